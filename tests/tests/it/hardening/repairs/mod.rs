//! No repair has to wait for a resync: whatever field of an object of ours a client edits, it is repaired soon if
//! upstream would ever repair it, and left alone if upstream would not.
//!
//! The same edits are made on two clusters, each in a namespace of its own. Upstream runs on one and is restarted
//! afterwards. The restart acts as a resync: it syncs everything, and clears stale expectations. Ours must have reached
//! the same state on the other cluster without a restart and within [`BOUND`], or longer on a slow machine.
//!
//! | Variable | What | Default |
//! |---|---|---|
//! | `REPAIRS_SEED` | which sequence of edits | 0 |
//! | `REPAIRS_EDITS` | how many of it | everything once, about 300 |
//! | `REPAIRS_ONLY` | only these, such as `3,17` | |
//! | `REPAIRS_SELF` | compare upstream with itself, started again as well: what differs is left to chance | |

mod edits;
mod places;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use jiff::Timestamp;
use tests::audit::{Mark, Request};
use tests::barrier::Barrier;
use tests::canonical::{Canonical, Detail, Snapshot};
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::variables::variable;
use tests::wait::{self, Calm, LIMIT};
use tokio::time::sleep;

use self::places::Edit;

/// The limit for a repair.
const BOUND: Duration = Duration::from_secs(15);

fn seed() -> u64 {
    variable("REPAIRS_SEED").unwrap_or_default()
}

fn sequence() -> Vec<Edit> {
    let only: Option<Vec<usize>> = variable::<String>("REPAIRS_ONLY")
        .map(|text| text.split(',').map(|it| it.trim().parse().unwrap()).collect());
    let most = only.iter().flatten().max().map_or(0, |largest| largest + 1);
    let count = variable("REPAIRS_EDITS").unwrap_or_else(Edit::everything_once);
    let mut edits = Edit::sequence(seed(), count.max(most));
    edits.retain(|edit| only.as_ref().is_none_or(|only| only.contains(&edit.number)));
    edits
}

/// One of the two clusters.
struct Side {
    cluster: Cluster,
    barrier: Barrier,
    manager: Manager,
    kind: Kind,
}

impl Side {
    /// Starts a side and prepares the places of all edits.
    async fn start(kind: Kind, edits: &[Edit]) -> Self {
        let cluster = Cluster::start(ClusterOptions::default()).await;
        let barrier = Barrier::place(&cluster.client(), Controller::ALL).await;
        let options = ManagerOptions::of(Controller::ALL);
        let manager = Manager::start(kind, &cluster, &options).await;
        // At start-up, upstream deletes Endpoints whose Service its cache does not have yet.
        barrier.settle().await;
        places::prepare(&cluster.client(), edits).await;
        for edit in edits {
            let client = cluster.client();
            wait::until("what is to be edited", LIMIT, || edit.is_prepared(&client)).await;
        }
        barrier.settle().await;
        Self { cluster, barrier, manager, kind }
    }

    /// The final state under upstream, after a restart.
    async fn look_at_everything(self) -> Self {
        let Self { cluster, barrier, manager, kind } = self;
        barrier.settle().await;
        manager.stop().await;
        let manager = Manager::start(kind, &cluster, &ManagerOptions::of(Controller::ALL)).await;
        barrier.settle().await;
        Self { cluster, barrier, manager, kind }
    }

    async fn snapshots(&self, edits: &[Edit]) -> Vec<Canonical> {
        let client = self.cluster.client();
        let snapshots = futures::stream::iter(edits).map(|edit| {
            let client = client.clone();
            async move {
                let snapshot = Snapshot::take(&client, &edit.namespace()).await;
                snapshot.without_times_and_lost_names().canonical(Detail::Exact)
            }
        });
        snapshots.buffered(4).collect().await
    }

    /// The controllers' writes by namespace.
    fn writes_since(&self, mark: Mark) -> BTreeMap<String, Vec<Request>> {
        let mut writes: BTreeMap<String, Vec<Request>> = BTreeMap::new();
        for write in self.cluster.audit().writes_since(mark, User::EndpointControllers) {
            if write.is_of_endpoints() {
                writes.entry(write.namespace.clone()).or_default().push(write);
            }
        }
        writes
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_that_upstream_ever_repairs_are_repaired_soon_and_others_left_alone() {
    let edits = sequence();
    let kind = if variable::<String>("REPAIRS_SELF").is_some() { Kind::Upstream } else { Kind::Ours };
    let (upstream, ours) =
        tokio::join!(Box::pin(Side::start(Kind::Upstream, &edits)), Box::pin(Side::start(kind, &edits)));
    let bound = Calm::measure(async |_| ours.barrier.wait().await).await.bound(BOUND);
    let marks = [upstream.cluster.audit().mark(), ours.cluster.audit().mark()];
    let (clients, begin) = ([upstream.cluster.client(), ours.cluster.client()], Timestamp::now());
    let answers = tokio::join!(places::make(&clients[0], &edits), places::make(&clients[1], &edits));
    for (edit, (left, right)) in edits.iter().zip(answers.0.iter().zip(&answers.1)) {
        assert_eq!(left, right, "the answers of the two API servers to {edit:?}");
    }
    let (end, made) = (Timestamp::now(), Instant::now());
    let ours = async {
        if kind == Kind::Upstream {
            let ours = ours.look_at_everything().await;
            (ours.snapshots(&edits).await, ours)
        } else {
            sleep(BOUND).await;
            (ours.snapshots(&edits).await, ours)
        }
    };
    let (upstream, (mut candidate, ours)) =
        tokio::join!(Box::pin(upstream.look_at_everything()), Box::pin(ours));
    let reference = upstream.snapshots(&edits).await;
    while kind == Kind::Ours && !all_agree(&edits, &reference, &candidate) && made.elapsed() < bound {
        candidate = ours.snapshots(&edits).await;
    }
    let writes = [upstream.writes_since(marks[0]), ours.writes_since(marks[1])];

    let mut failures = BTreeMap::new();
    let (mut repaired, mut refused) = (0, 0);
    for (number, edit) in edits.iter().enumerate() {
        let of = |side: usize| writes[side].get(&edit.namespace()).map_or(&[][..], Vec::as_slice);
        let mut failure = String::new();
        repaired += usize::from(!of(0).is_empty());
        refused += usize::from(answers.0[number] != 200);
        if let Some(reason) = edit.differs_on_purpose() {
            println!("{edit:?}: not compared: {reason}");
            continue;
        }
        if let Some(difference) = reference[number].difference(&candidate[number]) {
            writeln!(failure, "(- upstream, + ours)\n{difference}").unwrap();
        }
        if of(0).is_empty() && !of(1).is_empty() {
            writeln!(failure, "upstream leaves it alone, ours wrote {}", texts(of(1))).unwrap();
        }
        if of(1).len() > of(0).len() {
            println!("{edit:?}: {} writes of upstream's, {} of ours", of(0).len(), of(1).len());
        }
        if !failure.is_empty() {
            failures
                .insert(edit.number, format!("{edit:?}\n{failure}\nwritten by upstream: {}", texts(of(0))));
        }
    }
    println!(
        "{} edits, {refused} of them refused, {repaired} repaired by upstream in the end; begun at {begin}",
        edits.len()
    );
    measure_last_repair(&writes[1], end);
    let numbers: Vec<String> = failures.keys().map(ToString::to_string).collect();
    let texts: Vec<String> = failures.into_values().collect();
    assert!(
        texts.is_empty(),
        "{} of {} edits failed\n{}\nAgain: REPAIRS_SEED={} REPAIRS_ONLY={} cargo test -p tests --test it hardening::repairs",
        texts.len(),
        edits.len(),
        texts.join("\n"),
        seed(),
        numbers.join(","),
    );
}

/// Prints the time from the last edit to the last write that repaired one.
fn measure_last_repair(writes: &BTreeMap<String, Vec<Request>>, end: Timestamp) {
    let of_edits = writes.iter().filter(|(namespace, _)| namespace.starts_with("edit-"));
    let last = of_edits.flat_map(|(_, writes)| writes).map(|write| write.answered).max();
    if let Some(last) = last {
        let took = Duration::try_from(last.duration_since(end)).unwrap_or_default();
        super::fixture::measured("repair of edited objects, the last of all", took);
    }
}

/// True if both sides are in the same state, but for intended differences.
fn all_agree(edits: &[Edit], reference: &[Canonical], candidate: &[Canonical]) -> bool {
    let mut sides = edits.iter().zip(reference.iter().zip(candidate));
    sides.all(|(edit, (left, right))| edit.differs_on_purpose().is_some() || left.difference(right).is_none())
}

fn texts(requests: &[Request]) -> String {
    requests.iter().fold(String::new(), |text, request| {
        let line: String = request.to_string().chars().take(300).collect();
        text + "\n    " + &line
    })
}
