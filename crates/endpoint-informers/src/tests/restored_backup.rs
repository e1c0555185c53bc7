//! An API server whose storage was restored from a backup, noticed by other answers than those of informers.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::election::{Config, ElectionMetrics, Elector, Identity, LeaseLock};
use controller_kit::key::ObjectKey;
use controller_kit::recorder::Recorder;
use controller_kit::worker::SyncContext;
use controller_kit::write::ObjectWriter;
use endpointslice::Node;
use http::Method;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_api::version_guard::VersionGuard;
use kube_api::{ApiClient, Encoding};
use kube_protobuf::Message;
use scripted_api::candidates::Candidate;
use scripted_api::leases::LeaseServer;
use scripted_api::script::{Answer, Script, Step};
use scripted_api::wire::Wire;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::cache::Cache;
use crate::kinds::CachedSlice;
use crate::list_watch::Informers;

const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(3600);
const WIRE: Wire = Wire(Encoding::Protobuf);
const NODES: &str = "/api/v1/nodes";
const SLICES: &str = "/apis/discovery.k8s.io/v1/endpointslices";

fn list(path: &str, version: &str, pause: Duration) -> Step {
    let answer = WIRE.watch(&[WIRE.end_of_list(version)]).pause(pause);
    Step::new(Method::GET, path, answer).has("sendInitialEvents=true")
}

fn resume(path: &str, version: &str, answer: Answer) -> Step {
    Step::new(Method::GET, path, answer).has(&format!("resourceVersion={version}"))
}

fn slice(version: &str) -> EndpointSlice {
    let metadata = json!({"namespace": "shop", "name": "a", "resourceVersion": version});
    serde_json::from_value(json!({"metadata": metadata, "addressType": "IPv4", "endpoints": []})).unwrap()
}

/// The update of the slice is answered with this version of it.
fn put(version: &str) -> Step {
    let body = kube_protobuf::wrap("discovery.k8s.io/v1", "EndpointSlice", &slice(version).encode());
    let path = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/a";
    Step::new(Method::PUT, path, Answer::new(200, WIRE.content_type(), body))
}

/// Nodes whose watch is resumed at 5000, silent until the restored storage has caught up, and then goes on.
fn nodes_that_catch_up(list_again: impl IntoIterator<Item = Step>) -> Arc<Script> {
    let caught_up = WIRE.watch(&[]).pause(40 * SECOND).then(WIRE.bookmark("5001")).hang();
    let steps = [list(NODES, "5000", 2 * SECOND), resume(NODES, "5000", caught_up)];
    Script::new(steps.into_iter().chain(list_again))
}

fn list_again() -> [Step; 2] {
    let silence = WIRE.watch(&[WIRE.bookmark("1201")]).hang();
    [list(NODES, "1200", 2 * SECOND), resume(NODES, "1200", silence)]
}

fn watch_nodes(script: &Arc<Script>, guard: &VersionGuard) -> Informers {
    let client = ApiClient::new(script.client(), WIRE.0, "us").with_version_guard(guard.clone());
    let mut informers = Informers::new(client, Arc::new(Cache::default()));
    informers.start(informers.of::<Node>());
    informers
}

/// A process that contends for the Lease reads or writes it every two seconds, and sees its version fall.
#[tokio::test(start_paused = true)]
async fn a_leader_and_a_standby_relist_when_the_version_of_the_lease_falls() {
    for leads in [true, false] {
        let (leases, guard) = (LeaseServer::new(), VersionGuard::default());
        let other = if leads { None } else { Some(Candidate::leading(&leases, "other").await) };
        leases.set_version(4990);
        let script = nodes_that_catch_up(list_again());
        let informers = watch_nodes(&script, &guard);
        informers.caches().synced().await;

        let client = leases.client("us", WIRE.0).with_version_guard(guard.clone());
        let lock = LeaseLock::new(client.clone(), "kube-system", "controllers");
        let (recorder, _events) = Recorder::new(client, "us");
        let identity = Identity::unique("us");
        let (elector, leadership) =
            Elector::new(Config::default(), lock, identity, recorder, ElectionMetrics::default());
        tokio::spawn(elector.run(pending()));
        sleep(10 * SECOND).await;
        assert_eq!(leadership.is_held(), leads);
        // The other one stops with the restore, so that nothing is written that hides how far it went back.
        other.as_ref().inspect(|other| other.kill());
        leases.set_version(998);
        let restored = Instant::now();
        script.played(LONG).await;
        let listed = script.seen().get(2).unwrap().at;
        let after = (listed - restored).as_secs_f64();
        assert!((0.0..3.0).contains(&after), "leads: {leads}, after {after} s");
        assert_eq!(*guard.restores().borrow(), 1);
    }
}

/// Without an election: what a write is answered with must be later than what informers have shown of its kind.
#[tokio::test(start_paused = true)]
async fn every_kind_is_relisted_when_a_write_returns_an_older_version() {
    let guard = VersionGuard::default();

    let nodes = nodes_that_catch_up(list_again());
    let node_informers = watch_nodes(&nodes, &guard);
    let slices = Script::new([
        list(SLICES, "4000", 2 * SECOND),
        resume(SLICES, "4000", WIRE.watch(&[WIRE.bookmark("4500")]).hang()),
        put("4700"),
        // Nothing was changed: no evidence.
        put("4600"),
        put("1100"),
        list(SLICES, "1200", 2 * SECOND),
        resume(SLICES, "1200", WIRE.watch(&[WIRE.bookmark("1201")]).hang()),
    ]);
    let client = ApiClient::new(slices.client(), WIRE.0, "us").with_version_guard(guard.clone());
    let mut informers = Informers::new(client.clone(), Arc::new(Cache::default()));
    informers.start(informers.of::<CachedSlice>());
    informers.caches().synced().await;
    node_informers.caches().synced().await;
    sleep(10 * SECOND).await;

    let key = ObjectKey::new("shop", "a");
    for (sent, restores) in [("4100", 0), ("4600", 0), ("4700", 1)] {
        ObjectWriter::new(client.clone()).update(&SyncContext::default(), &key, &slice(sent)).await.unwrap();
        assert_eq!(*guard.restores().borrow(), restores, "{sent}");
    }
    nodes.played(LONG).await;
    slices.played(LONG).await;
    assert_eq!(*guard.restores().borrow(), 1, "the lists that follow are not new evidence");
}

/// After a restore, the watch cache of one of several API servers still tells what was before it. Each write would then
/// be taken for another restore.
#[tokio::test(start_paused = true)]
async fn repeated_restores_are_followed_by_relists_after_a_back_off() {
    let old_story = || {
        let watch = WIRE.watch(&[WIRE.bookmark("4500")]).hang();
        [list(SLICES, "4000", 2 * SECOND), resume(SLICES, "4000", watch)]
    };
    let versions = ["1101", "1102", "1103", "1104"];
    let script = Script::new(
        old_story()
            .into_iter()
            .chain(versions.iter().flat_map(|version| [put(version)].into_iter().chain(old_story()))),
    );
    let guard = VersionGuard::default();
    let client = ApiClient::new(script.client(), WIRE.0, "us").with_version_guard(guard.clone());
    let mut informers = Informers::new(client.clone(), Arc::new(Cache::default()));
    informers.start(informers.of::<CachedSlice>());
    informers.caches().synced().await;
    sleep(20 * SECOND).await;
    // Three come soon after one another, the last one doesn't.
    for (number, pause) in [20, 20, 130, 20].into_iter().enumerate() {
        ObjectWriter::new(client.clone())
            .update(&SyncContext::default(), &ObjectKey::new("shop", "a"), &slice("900"))
            .await
            .unwrap();
        assert_eq!(*guard.restores().borrow(), u64::try_from(number + 1).unwrap());
        sleep(pause * SECOND).await;
    }
    script.played(LONG).await;
    let gaps = script.gaps();
    let waits: Vec<f64> = [2, 5, 8, 11].iter().map(|put| *gaps.get(*put).unwrap()).collect();
    let [first, second, third, late] = *waits else { panic!("{waits:?}") };
    assert!(first < 0.1 && (0.8..1.7).contains(&second) && (1.6..3.3).contains(&third), "{waits:?}");
    assert!(late < 0.1, "{waits:?}");
}

/// One kind's list shows it: the others need not wait until their own informers have been silent for long enough.
#[tokio::test(start_paused = true)]
async fn every_kind_is_relisted_when_a_list_has_an_older_version() {
    let guard = VersionGuard::default();
    let nodes = nodes_that_catch_up(list_again());
    let node_informers = watch_nodes(&nodes, &guard);
    let slices = Script::new([
        list(SLICES, "5000", 10 * SECOND),
        resume(SLICES, "5000", WIRE.refusal(&scripted_api::wire::EXPIRED)),
        list(SLICES, "1100", 2 * SECOND),
        resume(SLICES, "1100", WIRE.watch(&[WIRE.bookmark("1201")]).hang()),
    ]);
    let client = ApiClient::new(slices.client(), WIRE.0, "us").with_version_guard(guard.clone());
    let mut informers = Informers::new(client, Arc::new(Cache::default()));
    informers.start(informers.of::<CachedSlice>());
    nodes.played(LONG).await;
    slices.played(LONG).await;
    let listed = nodes.seen().get(2).unwrap().at - nodes.seen().get(1).unwrap().at;
    assert!(listed < 20 * SECOND, "{listed:?}");
    drop(node_informers);
}

/// A list of at most one node, by which the current version is read.
fn current(answer: Answer) -> Step {
    Step::new(Method::GET, NODES, answer).has("limit=1").lacks("watch").lacks("resourceVersion")
}

fn version(version: &str) -> Answer {
    WIRE.page(&[], version, "")
}

/// A restore ends every watch. Nothing else shows it to a process without writes and without an election, or to a
/// standby that has seen no Lease newer than the backup's.
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_resumed_after_a_restore_is_followed_by_a_relist() {
    let open = || WIRE.watch(&[]).hang();
    let steps = [
        list(NODES, "5000", 2 * SECOND),
        resume(NODES, "5000", WIRE.watch(&[]).pause(2 * SECOND)),
        current(version("5001")),
        // A lagging API server, and one that cannot answer at once.
        resume(NODES, "5000", WIRE.watch(&[WIRE.bookmark("5002")]).pause(20 * SECOND)),
        current(Answer::new(500, "text/plain", "no")),
        current(version("5002")),
        resume(NODES, "5002", open()),
        current(version("1100")),
        list(NODES, "1200", 2 * SECOND),
        resume(NODES, "1200", open()),
        current(version("1200")),
    ];
    let (script, guard) = (Script::new(steps), VersionGuard::default());
    let informers = watch_nodes(&script, &guard);
    script.played(LONG).await;
    sleep(100 * SECOND).await;
    script.check();
    assert_eq!(*guard.restores().borrow(), 1);
    drop(informers);
}

/// Then the restored storage may have written as much as the one before.
#[tokio::test(start_paused = true)]
async fn versions_that_nothing_confirmed_for_five_minutes_are_not_resumed_from() {
    let begin = || list(NODES, "5000", 2 * SECOND);
    let refusal = || Answer::new(503, "text/plain", "no").header("retry-after", "60");
    let in_vain = [begin()].into_iter().chain((0..5).map(|_| resume(NODES, "5000", refusal())));
    let alive = ["5001", "5002", "5003", "5004"]
        .into_iter()
        .fold(WIRE.watch(&[]), |answer, version| answer.pause(100 * SECOND).then(WIRE.bookmark(version)));
    let late = [begin(), resume(NODES, "5000", alive.hang())].into_iter();
    let late = late.chain((0..5).map(|_| current(refusal()))).chain([current(version("5003"))]);
    for steps in [in_vain.collect::<Vec<_>>(), late.collect()] {
        let script = Script::new(steps.into_iter().chain(list_again()));
        let informers = watch_nodes(&script, &VersionGuard::default());
        script.played(LONG).await;
        let seen = script.seen();
        let [.., list, _] = &*seen else { panic!("{seen:?}") };
        let after = (list.at - seen.first().unwrap().at).as_secs_f64();
        assert!((300.0..310.0).contains(&after), "{after}");
        drop(informers);
    }
}

/// SIGSTOP, or a paused container: events that arrived before a restore are read after it.
#[tokio::test(start_paused = true)]
async fn events_that_waited_for_a_stopped_process_count_as_silence() {
    let waiting = WIRE.watch(&[]).pause(10 * SECOND).then(WIRE.bookmark("5001")).hang();
    let script = Script::new(
        [list(NODES, "5000", 2 * SECOND), resume(NODES, "5000", waiting)].into_iter().chain(list_again()),
    );
    let informers = watch_nodes(&script, &VersionGuard::default());
    sleep(5 * SECOND).await;
    tokio::time::advance(400 * SECOND).await;
    script.played(LONG).await;
    drop(informers);
}
