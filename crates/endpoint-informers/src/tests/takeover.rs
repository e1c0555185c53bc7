//! The relist of a new leader, on a paused clock: lists that take long, lists that stall, and no unnecessary list.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use controller_kit::election::{Config, ElectionMetrics, Identity, LeaseLock};
use controller_kit::recorder::Recorder;
use endpointslice::Pod;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::Body;
use kube_api::time::Instant;
use kube_api::{ApiClient, Encoding};
use parking_lot::Mutex;
use scripted_api::candidates::Candidate;
use scripted_api::leases::LeaseServer;
use scripted_api::wire::{Wire, message, pod};
use tokio::sync::watch as channel;
use tokio::time::{sleep, timeout};

use crate::cache::Cache;
use crate::kinds::CachedSlice;
use crate::lifecycle::{Lifecycle, PendingElection, Phase};
use crate::list_watch::{Caches, Informers};
use crate::resource::Resource;

const SECOND: Duration = Duration::from_secs(1);
type AnyBody = UnsyncBoxBody<Bytes, std::io::Error>;

const WIRE: Wire = Wire(Encoding::Protobuf);

/// The list of a kind: this number of chunks, each with this content after this pause, and then its end or nothing.
#[derive(Clone)]
struct Drip {
    chunks: u32,
    chunk: Arc<dyn Fn(u32) -> Bytes + Send + Sync>,
    pause: Duration,
    ends: bool,
}

impl Drip {
    fn empty() -> Self {
        Self { chunks: 0, chunk: Arc::new(|_| Bytes::new()), pause: Duration::ZERO, ends: true }
    }

    /// Chunks without any object: a bookmark in each.
    fn bookmarks(chunks: u32, pause: Duration, ends: bool) -> Self {
        Self { chunks, chunk: Arc::new(|_| WIRE.bookmark("5")), pause, ends }
    }

    fn pods(chunks: u32, pods_in_each: u32, pause: Duration) -> Self {
        let chunk = move |chunk| {
            let number = |n| chunk * pods_in_each + n;
            let address = |n: u32| std::net::Ipv4Addr::from(0x0a00_0000 + n).to_string();
            let added = |n| WIRE.added(&pod(&format!("pod-{n}"), "7", &address(n)));
            (0..pods_in_each).map(|n| added(number(n))).collect::<Vec<_>>().concat().into()
        };
        Self { chunks, chunk: Arc::new(chunk), pause, ends: true }
    }

    fn body(self) -> AnyBody {
        let events = futures::stream::unfold(0, move |n| {
            let Self { chunks, chunk, pause, ends } = self.clone();
            async move {
                sleep(pause).await;
                let bytes = match n {
                    n if n < chunks => chunk(n),
                    n if n == chunks && ends => WIRE.end_of_list("10"),
                    _ => pending().await,
                };
                Some((Ok::<_, std::io::Error>(Frame::data(bytes)), n + 1))
            }
        });
        StreamBody::new(events).boxed_unsync()
    }
}

/// An API server with a Lease and these lists; watches after them are silent.
struct Cluster {
    leases: Arc<LeaseServer>,
    drips: Mutex<BTreeMap<&'static str, Drip>>,
    /// The path of each list that was requested.
    lists: Mutex<Vec<String>>,
    /// Watches break, and none can be opened.
    broken: channel::Sender<bool>,
}

impl Cluster {
    fn new<const N: usize>(drips: [(&'static str, Drip); N]) -> Arc<Self> {
        let drips = Mutex::new(drips.into());
        Arc::new(Self {
            leases: LeaseServer::new(),
            drips,
            lists: Mutex::default(),
            broken: channel::Sender::new(false),
        })
    }

    fn client(self: &Arc<Self>) -> ApiClient {
        let cluster = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<Body>| {
            let cluster = Arc::clone(&cluster);
            async move { cluster.answer(request).await }
        });
        ApiClient::new(kube::Client::new(service, "default"), Encoding::Protobuf, "us")
    }

    async fn answer(&self, request: Request<Body>) -> std::io::Result<Response<AnyBody>> {
        let path = request.uri().path().to_owned();
        let Some(drip) = self.drips.lock().get(path.as_str()).cloned() else {
            let answer = Arc::clone(&self.leases).answer(request).await?;
            return Ok(answer.map(|body| body.map_err(std::io::Error::other).boxed_unsync()));
        };
        let query = request.uri().query().unwrap_or_default();
        let broken = self.broken.subscribe();
        if *broken.borrow() {
            return Err(std::io::ErrorKind::ConnectionRefused.into());
        }
        if query == "limit=1" {
            return Ok(empty_page(b"10"));
        }
        if query.contains("resourceVersion=") {
            // A bookmark a minute.
            let events = futures::stream::unfold(broken, async |mut broken| {
                let event = match timeout(60 * SECOND, broken.wait_for(|broken| *broken)).await {
                    Ok(_) => Err(std::io::ErrorKind::ConnectionReset.into()),
                    Err(_) => Ok(Frame::data(WIRE.bookmark("11"))),
                };
                Some((event, broken))
            });
            return Ok(watch(StreamBody::new(events).boxed_unsync()));
        }
        self.lists.lock().push(path);
        match query.contains("limit=") {
            false => Ok(watch(drip.body())),
            true if drip.ends => Ok(empty_page(b"10")),
            true => pending().await,
        }
    }

    fn lists_of<K: Resource>(&self) -> usize {
        self.lists.lock().iter().filter(|path| *path == K::PATH).count()
    }

    fn set<K: Resource>(&self, drip: Drip) {
        self.drips.lock().insert(K::PATH, drip);
    }
}

fn empty_page(version: &[u8]) -> Response<AnyBody> {
    let list = message(&[(1, &message(&[(2, version)]))]);
    let body = Full::from(kube_protobuf::wrap("v1", "List", &list));
    let response = Response::builder().header("content-type", WIRE.content_type());
    response.body(body.map_err(|never| match never {}).boxed_unsync()).unwrap()
}

fn watch(body: AnyBody) -> Response<AnyBody> {
    let content_type = "application/vnd.kubernetes.protobuf;stream=watch";
    Response::builder().header("content-type", content_type).body(body).unwrap()
}

/// List-watches of slices and pods.
fn informers(cluster: &Arc<Cluster>) -> (Informers, Caches) {
    let mut informers = Informers::new(cluster.client(), Arc::new(Cache::default()));
    informers.start(informers.of::<CachedSlice>());
    informers.start(informers.of::<Pod>());
    let caches = informers.caches();
    (informers, caches)
}

fn slices_and_pods() -> Arc<Cluster> {
    Cluster::new([(CachedSlice::PATH, Drip::empty()), (Pod::PATH, Drip::empty())])
}

fn election(cluster: &Arc<Cluster>) -> PendingElection {
    let client = cluster.client();
    let lock = LeaseLock::new(client.clone(), "kube-system", "controllers");
    let (events, identity) = (Recorder::new(client, "us"), Identity::unique("us"));
    PendingElection::new(Config::default(), lock, identity, events, ElectionMetrics::default())
}

/// Leads, and then looks at the cluster while the Lease is held.
async fn lead(election: PendingElection, caches: &Caches, working: impl FnOnce()) {
    let mut lifecycle = Lifecycle::new(caches.clone(), []).with_election(election);
    Box::pin(lifecycle.lead()).await.unwrap();
    working();
    lifecycle.stop().await.unwrap();
}

/// A new leader requests one list of each kind that controllers write.
#[tokio::test(start_paused = true)]
async fn a_relist_takes_one_list_or_names_the_kinds_that_time_out() {
    let cluster = slices_and_pods();
    let (_informers, caches) = informers(&cluster);
    caches.synced().await;
    sleep(SECOND).await;
    caches.relist_and_wait(Instant::now()).await.unwrap();
    assert_eq!((cluster.lists_of::<CachedSlice>(), cluster.lists_of::<Pod>()), (2, 1));

    cluster.set::<CachedSlice>(Drip { ends: false, ..Drip::empty() });
    sleep(SECOND).await;
    let start = Instant::now();
    let timeout = caches.relist_and_wait(start).await.unwrap_err();
    assert_eq!(timeout.to_string(), "no part of the lists of endpointslices arrived for 300s");
    assert_eq!((start.elapsed(), cluster.lists_of::<Pod>()), (300 * SECOND, 1));
}

/// As after an outage: the list-watch knows that it has missed events.
#[tokio::test(start_paused = true)]
async fn a_broken_watch_is_resumed_before_work_begins() {
    let cluster = slices_and_pods();
    let (_informers, caches) = informers(&cluster);
    caches.synced().await;
    // The streams of the lists have ended, in silence.
    sleep(200 * SECOND).await;
    cluster.broken.send_replace(true);
    sleep(100 * SECOND).await;
    let since = Instant::now();
    assert!(timeout(20 * SECOND, caches.relist_and_wait(since)).await.is_err());
    sleep(10 * SECOND).await;
    cluster.broken.send_replace(false);
    let start = Instant::now();
    caches.relist_and_wait(since).await.unwrap();
    assert!(start.elapsed() < SECOND, "waited between attempts: {:?}", start.elapsed());
    assert_eq!(cluster.lists_of::<Pod>(), 1, "resumed, not listed");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_makes_progress_is_awaited_without_limit() {
    let cluster = slices_and_pods();
    let (_informers, caches) = informers(&cluster);
    caches.synced().await;
    cluster.set::<CachedSlice>(Drip::bookmarks(8, 29 * SECOND, true));
    sleep(SECOND).await;
    let start = Instant::now();
    caches.relist_and_wait_until_stalled(start).await.unwrap();
    assert_eq!(start.elapsed(), 9 * 29 * SECOND);
    assert_eq!((cluster.lists_of::<CachedSlice>(), cluster.lists_of::<Pod>()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_stalls_is_noticed_after_30_s() {
    let cluster = slices_and_pods();
    let (_informers, caches) = informers(&cluster);
    caches.synced().await;
    cluster.set::<CachedSlice>(Drip::bookmarks(50, 3 * SECOND, false));
    sleep(SECOND).await;
    let start = Instant::now();
    let timeout = caches.relist_and_wait_until_stalled(start).await.unwrap_err();
    assert_eq!(timeout.resources, ["endpointslices"]);
    assert_eq!(start.elapsed(), 150 * SECOND + 30 * SECOND);
    // The same wait goes on: the list-watch itself tries again, and no list is thrown away.
    cluster.set::<CachedSlice>(Drip::empty());
    caches.relist_and_wait(start).await.unwrap();
}

/// Leads after another process, with lists of pods that take their time.
async fn lead_with_pods(chunks: u32, pods_in_each: u32, pause: Duration) {
    let drip = Drip::pods(chunks, pods_in_each, pause);
    let cluster = Cluster::new([(CachedSlice::PATH, Drip::empty()), (Pod::PATH, drip)]);
    let cache = Arc::new(Cache::default());
    let mut informers = Informers::new(cluster.client(), Arc::clone(&cache));
    Candidate::leading(&cluster.leases, "before").await.stop().await.unwrap();
    let election = election(&cluster).observe().await.unwrap();
    informers.start(informers.of::<CachedSlice>());
    informers.start(informers.of::<Pod>());
    let start = Instant::now();
    let expected = usize::try_from(chunks * pods_in_each).unwrap();
    let working =
        || assert_eq!(cache.read(|state| state.pods.len()), expected, "work begins with a full cache");
    lead(election, &informers.caches(), working).await;
    assert!(start.elapsed() > 150 * SECOND, "{:?}", start.elapsed());
    assert_eq!((cluster.lists_of::<Pod>(), cluster.lists_of::<CachedSlice>()), (1, 1));
}

/// The leader neither exits nor lists twice.
#[tokio::test(start_paused = true)]
async fn a_leader_lists_pods_once_though_that_takes_minutes() {
    lead_with_pods(200, 100, SECOND).await;
}

/// `cargo xtask takeover-at-a-million`
#[tokio::test(start_paused = true)]
#[ignore = "takes a minute without optimisation: cargo xtask takeover-at-a-million"]
async fn a_leader_lists_a_million_pods_once() {
    lead_with_pods(10_000, 100, SECOND / 50).await;
}

/// As after a restart: the Lease was released by then, and stays so until the cache is full.
#[tokio::test(start_paused = true)]
async fn a_process_that_found_the_lease_free_before_it_listed_does_not_relist() {
    for (holder, lists) in [(None, 1), (Some(20 * SECOND), 2)] {
        let cluster = slices_and_pods();
        let before = Candidate::leading(&cluster.leases, "before").await;
        match holder {
            None => before.stop().await.unwrap(),
            Some(later) => drop(tokio::spawn(async move {
                sleep(later).await;
                before.stop().await.unwrap();
            })),
        }
        let election = election(&cluster).observe().await.unwrap();
        let (_informers, caches) = informers(&cluster);
        caches.synced().await;
        sleep(60 * SECOND).await;
        lead(election, &caches, || assert_eq!(cluster.lists_of::<CachedSlice>(), lists)).await;
        assert_eq!(cluster.lists_of::<Pod>(), 1);
    }
}

/// Without a Lease nothing shows which processes have led: this one was created and deleted while the cache was filled.
#[tokio::test(start_paused = true)]
async fn a_process_that_found_no_lease_relists() {
    let cluster = slices_and_pods();
    let election = election(&cluster).observe().await.unwrap();
    let (_informers, caches) = informers(&cluster);
    caches.synced().await;
    sleep(SECOND).await;
    drop(Candidate::leading(&cluster.leases, "meanwhile").await);
    cluster.leases.edit(|lease| *lease = None);
    sleep(SECOND).await;
    lead(election, &caches, || assert_eq!(cluster.lists_of::<CachedSlice>(), 2)).await;
    assert_eq!(cluster.lists_of::<Pod>(), 1);
}

/// Controllers that start earlier delete the endpoints of pods that are not listed yet.
#[tokio::test(start_paused = true)]
async fn without_an_election_work_begins_when_the_caches_are_synced() {
    let cluster =
        Cluster::new([(CachedSlice::PATH, Drip::empty()), (Pod::PATH, Drip::pods(10, 1, 6 * SECOND))]);
    let (_informers, caches) = informers(&cluster);
    let phase = channel::Sender::new(Phase::Starting);
    let mut lifecycle = Lifecycle::new(caches.clone(), []).with_phase(phase.clone());
    let start = Instant::now();
    assert!(
        timeout(30 * SECOND, Box::pin(lifecycle.lead())).await.is_err(),
        "the list of pods is not complete"
    );
    assert_eq!(*phase.borrow(), Phase::Starting);
    Box::pin(lifecycle.lead()).await.unwrap();
    assert!(start.elapsed() >= 66 * SECOND);
    assert!(caches.kinds().all(|(_, is_synced)| is_synced));
    assert_eq!((cluster.lists_of::<CachedSlice>(), cluster.lists_of::<Pod>()), (1, 1));
    lifecycle.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_process_without_an_election_can_be_stopped_before_its_caches_are_synced() {
    let cluster = Cluster::new([
        (CachedSlice::PATH, Drip::empty()),
        (Pod::PATH, Drip { ends: false, ..Drip::empty() }),
    ]);
    let (_informers, caches) = informers(&cluster);
    let start = Instant::now();
    Box::pin(Lifecycle::new(caches, []).run_until(sleep(20 * SECOND))).await.unwrap();
    assert_eq!(start.elapsed(), 20 * SECOND);
}
