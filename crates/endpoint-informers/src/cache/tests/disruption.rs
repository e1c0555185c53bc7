//! Pods that count as ready although the node lifecycle controller marked them, and when that ends.

use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use controller_kit::environment::{Environment, within};
use endpointslice::disruption::WAY_OUT;
use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use kube_api::time::{Clock, Instant, sleep};
use serde_json::{Value, from_value, json};

use super::*;
use crate::list_watch::Caches;

/// The time at which each test begins, in seconds since the epoch.
const START: i64 = 1_000_000;

/// The wall clock follows the paused one of the runtime.
struct Paused(Instant);

impl Clock for Paused {}

impl Environment for Paused {
    fn poll_running(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(START).unwrap() + self.0.elapsed()
    }
}

/// The names of the pods that changed, in order, with the readiness that counts.
#[derive(Default)]
struct Changes(Mutex<Vec<(String, bool)>>);

impl Changes {
    fn take(&self) -> Vec<(String, bool)> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Handler for Changes {
    /// As controllers do: a change that affects no endpoint is none.
    fn pod(&self, change: &Change<Pod>, _: &State, _: bool) {
        if !matches!(change, Change::Updated { old, new } if !old.differs_as_endpoint(new)) {
            let pod = change.latest();
            self.0.lock().push((pod.name.to_string(), pod.ready));
        }
    }
}

struct World {
    cache: Arc<Cache>,
    changes: Arc<Changes>,
}

fn time(second: i64) -> String {
    Timestamp::from_second(START + second).unwrap().to_string()
}

fn condition(kind: &str, status: &str, reason: &str, second: i64) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": time(second)})
}

fn interner() -> Interner {
    Interner::default().reading_conditions()
}

impl World {
    /// Nodes `n0`, `n1`, … with a ready pod `p0`, `p1`, … each.
    fn new(nodes: usize) -> Self {
        let cache = Arc::new(Cache::with_disruption_policy(Policy::default()));
        let world = Self { cache, changes: Arc::default() };
        for number in 0..nodes {
            world.node(number, "True", "KubeletReady", -5_000);
            world.pod(number, "True", -5_000);
        }
        world.cache.attach(Arc::clone(&world.changes) as Arc<dyn Handler>, |_| {});
        world
    }

    /// All conditions of a node have changed at a time, as they do when its kubelet is lost or back.
    fn node(&self, number: usize, ready: &str, reason: &str, second: i64) {
        let others = if ready == "Unknown" { "Unknown" } else { "False" };
        let conditions = [
            condition("MemoryPressure", others, "", second),
            condition("DiskPressure", others, "", second),
            condition("PIDPressure", others, "", second),
            condition("Ready", ready, reason, second),
        ];
        let node: core::Node = from_value(json!({
            "metadata": {"name": format!("n{number}"), "creationTimestamp": time(-9_000)},
            "status": {"conditions": conditions},
        }))
        .unwrap();
        self.cache.upsert(Node::from_api(&node, &mut interner()));
    }

    fn lose(&self, number: usize, second: i64) {
        self.node(number, "Unknown", "NodeStatusUnknown", second);
    }

    fn restore(&self, number: usize, second: i64) {
        self.node(number, "True", "KubeletReady", second);
    }

    /// The Ready condition of a pod has changed, and nothing else, as when the node lifecycle controller marks it.
    fn pod(&self, number: usize, ready: &str, second: i64) {
        let pod: core::Pod = from_value(json!({
            "metadata": {"namespace": "default", "name": format!("p{number}")},
            "spec": {"nodeName": format!("n{number}"), "containers": []},
            "status": {"phase": "Running", "podIPs": [{"ip": format!("10.0.0.{number}")}], "conditions": [
                condition("Ready", ready, "", second),
                condition("ContainersReady", "True", "", -5_000),
            ]},
        }))
        .unwrap();
        self.cache.upsert(Pod::from_api(&pod, &mut interner()));
    }

    fn mark(&self, number: usize, second: i64) {
        self.pod(number, "False", second);
    }

    fn settle(&self) {
        while self.cache.reassess() {}
    }

    fn changes(&self) -> Vec<(String, bool)> {
        self.settle();
        self.changes.take()
    }

    fn kept(&self) -> usize {
        self.cache.read(|state| state.pods.index().kept_ready())
    }
}

/// Runs a test at the beginning of time.
async fn at_start<F: Future>(test: F) -> F::Output {
    within(Arc::new(Paused(Instant::now())), test).await
}

fn named(names: &[&str], ready: bool) -> Vec<(String, bool)> {
    names.iter().map(|name| ((*name).to_owned(), ready)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_marked_in_a_disruption_is_no_change() {
    at_start(async {
        let world = World::new(3);
        for number in 0..3 {
            world.lose(number, -1);
        }
        for number in 0..3 {
            world.mark(number, 0);
        }
        assert_eq!((world.changes(), world.kept()), (Vec::new(), 3));
        let report = world.cache.disruptions().borrow().clone();
        assert_eq!((report.scopes.len(), report.kept_pods), (1, 3));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_marked_before_counts_again_when_the_disruption_begins() {
    at_start(async {
        let world = World::new(3);
        for number in 0..2 {
            world.lose(number, -10);
            world.mark(number, -9);
        }
        assert_eq!(world.changes(), named(&["p0", "p1"], false));
        world.lose(2, -5);
        assert_eq!((world.changes(), world.kept()), (named(&["p0", "p1"], true), 2));
        // And is withdrawn when it turns out that one node is back and its pod is not.
        world.restore(2, 0);
        assert_eq!(world.changes(), [], "the way out");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_kubelet_says_counts_at_once() {
    at_start(async {
        let world = World::new(3);
        for number in 0..3 {
            world.lose(number, -10);
            world.mark(number, -9);
        }
        world.changes();
        let failing = json!([
            condition("Ready", "False", "ContainersNotReady", 0),
            condition("ContainersReady", "False", "ContainersNotReady", 0),
        ]);
        let pod: core::Pod = from_value(json!({
            "metadata": {"namespace": "default", "name": "p1"},
            "spec": {"nodeName": "n1", "containers": []},
            "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "conditions": failing},
        }))
        .unwrap();
        world.cache.upsert(Pod::from_api(&pod, &mut interner()));
        assert_eq!((world.changes(), world.kept()), (named(&["p1"], false), 2));
        world.cache.remove::<Pod>("default", "p2");
        assert_eq!(world.kept(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_node_that_stays_away_are_withdrawn_after_the_way_out() {
    at_start(async {
        let world = World::new(4);
        for number in 0..4 {
            world.lose(number, -10);
            world.mark(number, -9);
        }
        world.settle();
        world.changes.take();
        let cache = Arc::clone(&world.cache);
        let mut follow = pin!(cache.follow_disruptions());
        let run = async {
            for number in 0..2 {
                world.restore(number, 0);
            }
            world.pod(0, "True", 1);
            sleep(Duration::from_secs(WAY_OUT.unsigned_abs() - 2)).await;
            assert_eq!(world.changes.take(), []);
            sleep(Duration::from_secs(4)).await;
            // The node of p1 is back, and nobody has reported on the pod.
            assert_eq!(world.changes.take(), named(&["p1", "p2", "p3"], false));
            assert_eq!(world.kept(), 0);
            world.restore(2, 605);
            sleep(Duration::from_secs(1)).await;
            assert_eq!(world.changes.take(), [], "its pod was withdrawn, and waits for its kubelet");
            world.pod(2, "True", 606);
            assert_eq!(world.changes.take(), named(&["p2"], true));
        };
        tokio::select! {
            biased;
            () = run => {}
            never = &mut follow => match never {},
        }
    })
    .await;
}

/// Pods may be listed before the nodes by which they count: what waits for the lists waits for the decision, too.
#[tokio::test(start_paused = true)]
async fn synced_caches_have_decided() {
    at_start(async {
        let world = World::new(0);
        for number in 0..3 {
            world.mark(number, -9);
        }
        for number in 0..3 {
            world.lose(number, -10);
        }
        assert_eq!(world.kept(), 0);
        let mut caches = Caches::default();
        caches.follow_disruptions(Arc::clone(&world.cache));
        caches.synced().await;
        assert_eq!(world.kept(), 3);
        for number in 0..2 {
            world.restore(number, -1);
        }
        caches.relist_and_wait(Instant::now()).await.unwrap();
        assert_eq!(world.kept(), 3, "the way out");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nodes_keep_their_readiness_for_hints() {
    at_start(async {
        let world = World::new(3);
        let ready = || {
            world.settle();
            world.cache.read(|state| state.nodes.iter().filter(|node| node.ready).count())
        };
        world.lose(0, -10);
        world.lose(1, -10);
        assert_eq!(ready(), 1);
        world.lose(2, -9);
        assert_eq!(ready(), 3);
        world.cache.remove::<Node>("", "n2");
        assert_eq!(ready(), 0, "two lost nodes are two dead nodes");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_a_relist_does_not_show_is_gone() {
    at_start(async {
        let world = World::new(3);
        for number in 0..2 {
            world.lose(number, -10);
            world.mark(number, -9);
        }
        world.changes();
        world.cache.begin_list::<Pod>();
        world.mark(0, -9);
        // Counts again in the middle of the list, which does not show it.
        world.lose(2, -5);
        assert_eq!(world.changes(), named(&["p0", "p1"], true));
        world.cache.finish_list::<Pod>("7");
        assert_eq!((world.cache.read(|state| state.pods.len()), world.kept()), (1, 1));
    })
    .await;
}

/// Without the policy nothing is read but readiness, and marked pods are not ready.
#[tokio::test]
async fn without_a_policy_a_marked_pod_is_not_ready() {
    let world = World { cache: Arc::default(), changes: Arc::default() };
    for number in 0..3 {
        world.lose(number, -10);
        world.mark(number, -9);
    }
    assert!(!world.cache.reassess());
    assert!(world.cache.read(|state| state.pods.iter().all(|pod| !pod.ready)));
}
