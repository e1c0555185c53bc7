//! At most one leader: processes start, stop, crash and freeze, over a network that delays and loses requests, on a
//! paused clock.
use std::sync::Arc;
use std::time::Duration;

use controller_kit::election::{Config, Leadership};
use kube_api::Encoding;
use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use scripted_api::candidates::Candidate;
use scripted_api::leases::{End, Fate, LeaseServer};

/// A process from start to end, with its own durations.
#[derive(Clone, Debug)]
struct Life {
    config: Config,
    starts_after: Duration,
    lives_for: Duration,
    killed: bool,
    stops: Vec<(Duration, Duration)>,
}

/// The time during which a process held leadership.
struct Term {
    by: String,
    from: Duration,
    to: Duration,
}

fn milliseconds(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> + Clone {
    range.prop_map(Duration::from_millis)
}

fn fate() -> impl Strategy<Value = Fate> {
    let end = prop_oneof![
        8 => Just(End::Answered),
        1 => Just(End::Refused(500)),
        1 => Just(End::Refused(409)),
        1 => Just(End::Broken),
        1 => Just(End::Swallowed),
        1 => Just(End::AnswerBroken),
        1 => Just(End::AnswerSwallowed),
    ];
    let delay = || prop_oneof![3 => milliseconds(0..100), 1 => milliseconds(0..20_000)];
    (delay(), end, delay()).prop_map(|(before, end, after)| Fate { before, end, after })
}

/// The usual durations, and some with almost no time between the renew deadline and the lease duration.
fn config() -> impl Strategy<Value = Config> {
    let durations = prop_oneof![
        Just((15_000, 10_000, 2000)),
        Just((4000, 3999, 500)),
        Just((3500, 3499, 2000)),
        Just((2000, 1000, 300)),
        Just((1000, 999, 800)),
    ];
    durations.prop_map(|(lease, renew, retry)| {
        let [lease, renew, retry] = [lease, renew, retry].map(Duration::from_millis);
        Config::new(lease, renew, retry).unwrap()
    })
}

fn life() -> impl Strategy<Value = Life> {
    let stops = vec((milliseconds(0..40_000), milliseconds(0..20_000)), 0..3);
    let parts = (config(), milliseconds(0..10_000), milliseconds(0..60_000), any::<bool>(), stops);
    parts.prop_map(|(config, starts_after, lives_for, killed, mut stops)| {
        stops.sort();
        Life { config, starts_after, lives_for, killed, stops }
    })
}

/// Records the term of a process.
async fn observe(by: String, leadership: Leadership, start: Instant, terms: Arc<Mutex<Vec<Term>>>) {
    if leadership.gained().await {
        let from = start.elapsed();
        leadership.lost().await;
        terms.lock().push(Term { by, from, to: start.elapsed() });
    }
}

async fn live(server: Arc<LeaseServer>, name: String, lives: Vec<Life>, terms: Arc<Mutex<Vec<Term>>>) {
    let start = Instant::now();
    for Life { config, starts_after, lives_for, killed, stops } in lives {
        sleep(starts_after).await;
        let mut candidate = Candidate::start_stopping(&server, &name, config, Encoding::Protobuf, stops);
        let leadership = candidate.leadership.clone();
        tokio::spawn(observe(candidate.identity.clone(), leadership, start, Arc::clone(&terms)));
        match timeout(lives_for, &mut candidate.election).await {
            Ok(lost) => assert!(lost.unwrap().is_err()),
            Err(_) if killed => candidate.kill(),
            Err(_) => drop(candidate.stop().await),
        }
    }
}

async fn check(processes: Vec<Vec<Life>>, fates: Vec<Fate>) -> Result<(), TestCaseError> {
    let mut fates = fates.into_iter();
    let server = LeaseServer::with_fates(move |_| fates.next().unwrap_or_default());
    let terms = Arc::new(Mutex::new(Vec::new()));
    let mut running = JoinSet::new();
    for (number, lives) in processes.into_iter().enumerate() {
        let (server, terms) = (Arc::clone(&server), Arc::clone(&terms));
        running.spawn(live(server, format!("process-{number}"), lives, terms));
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
    server.set_fates(|_| Fate::default());
    let last = Candidate::start(&server, "last");
    // The longest lease, once more if a write under way renewed it, and the standby's wait.
    let gained = timeout(Duration::from_secs(40), last.leadership.gained()).await;
    prop_assert_eq!(gained, Ok(true), "the last process leads");

    let mut terms = std::mem::take(&mut *terms.lock());
    terms.sort_by_key(|term| term.from);
    for pair in terms.windows(2) {
        let (one, next) = (&pair[0], &pair[1]);
        prop_assert!(
            one.to <= next.from,
            "two leaders: {} until {:?}, {} from {:?}",
            one.by,
            one.to,
            next.by,
            next.from
        );
    }
    prop_assert_eq!(server.violations(), Vec::<String>::new());
    Ok(())
}

fn with_seeds() -> ProptestConfig {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/election_safety.seeds");
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(with_seeds())]

    #[test]
    fn there_are_never_two_leaders(
        processes in vec(vec(life(), 1..4), 2..4),
        fates in vec(fate(), 0..150),
        seed in any::<u64>(),
    ) {
        fastrand::seed(seed);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(check(processes, fates))?;
    }
}
