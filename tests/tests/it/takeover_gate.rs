//! `--takeover-max-writes`: a wrong flag or gate writes nothing.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;
use tests::audit::{Mark, Request};
use tests::barrier::workers_rest;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, LeaderElection, Manager, ManagerOptions};
use tests::scenario::{Pod, World};
use tests::wait::{self, LIMIT};

use crate::deploy::PATIENT;

const LABEL: &str = "service.kubernetes.io/endpoint-controller-name";
const DELEGATION: &str = "--feature-gates=EndpointControllerNameWellKnownLabel=true";

/// A cluster whose objects our program has written.
struct Fixture {
    cluster: Cluster,
    world: World,
}

impl Fixture {
    async fn start() -> Self {
        let cluster = Cluster::start(ClusterOptions::default()).await;
        cluster.allow_delegation().await;
        cluster.allow_election().await;
        let world = World::prepare(cluster.client(), Controller::ALL).await;
        let fixture = Self { cluster, world };
        let manager = fixture.manager(&[]).await;
        let world = &fixture.world;
        for (name, labels) in [("web", json!({})), ("other", json!({LABEL: "controller.example"}))] {
            let ports = json!([{"name": "http", "port": 80}]);
            world.service(name, labels, json!({"selector": {"app": name}, "ports": ports})).await;
        }
        world.pods((1..=3).map(|n| Pod::new(&format!("web-{n}"), "web", n))).await;
        world.pods((4..=6).map(|n| Pod::new(&format!("other-{n}"), "other", n))).await;
        world.service("custom", json!({}), json!({"ports": [{"name": "http", "port": 80}]})).await;
        let addresses = json!([{"ip": "10.9.0.1"}, {"ip": "10.9.0.2"}, {"ip": "10.9.0.3"}]);
        let subset = json!({"addresses": addresses, "ports": [{"name": "http", "port": 80}]});
        world.endpoints("custom", subset).await;
        world.settle().await;
        workers_rest(Controller::ALL, manager.pages()).await;
        assert!(manager.stop().await.success());
        fixture
    }

    fn options(flags: &[&str]) -> ManagerOptions {
        let flags = flags.iter().map(ToString::to_string).collect();
        let leader_election = Some(PATIENT);
        ManagerOptions { flags, leader_election, ..ManagerOptions::of(Controller::ALL) }
    }

    async fn manager(&self, flags: &[&str]) -> Manager {
        Manager::ours(&self.cluster, &Self::options(flags)).await
    }

    /// Starts our program with these flags, and waits until its gate is closed. Returns the reason.
    async fn held(&self, flags: &[&str]) -> (Manager, String) {
        let manager = Manager::ours_unready(&self.cluster, &Self::options(flags));
        let reason = wait::until("a closed gate", LIMIT, || async {
            // Its reason is shown to those who may see it only in the log.
            let page = manager.pages().get("/readyz?verbose").await?;
            let line = page.text.lines().find(|line| line.starts_with("[-]takeover failed"));
            line.map(str::to_owned).ok_or(page.text)
        })
        .await;
        (manager, reason)
    }

    /// Waits for an event about the Lease with this reason, whose message has a text. Returns the message.
    async fn event(&self, reason: &str, text: &str) -> String {
        wait::until(reason, LIMIT, || async {
            let messages = self.events(reason).await;
            messages.iter().find(|message| message.contains(text)).cloned().ok_or(messages.join("\n"))
        })
        .await
    }

    /// The messages of the events about the Lease with this reason.
    async fn events(&self, reason: &str) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.world.client().clone(), "kube-system");
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let events = events.into_iter().filter(|event| event.reason.as_deref() == Some(reason));
        events.filter_map(|event| event.message).collect()
    }

    fn written(&self, mark: Mark) -> Vec<String> {
        let mut writes = self.cluster.audit().writes_since(mark, User::EndpointControllers);
        writes.retain(Request::is_of_endpoints);
        writes.iter().map(|write| format!("{} {} {}", write.verb, write.resource, write.name)).collect()
    }
}

/// SIGUSR2 approves it as well: `endpoint-controller-manager` `takeover::approval`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_gate_writes_nothing_until_an_annotation_of_the_lease_approves_this_takeover() {
    let fixture = Fixture::start().await;
    let mark = fixture.cluster.audit().mark();
    let flags = [DELEGATION, "--takeover-max-writes=1"];
    let leases: Api<Lease> = Api::namespaced(fixture.world.client().clone(), "kube-system");
    let (manager, _) = fixture.held(&flags).await;
    let event = fixture.event("TakeoverHeld", "").await;
    // The slice and the Endpoints of the Service that the gate gives away.
    let expected = "the controllers would make 2 writes at their start, more than --takeover-max-writes=1";
    assert!(event.starts_with(expected), "{event}");
    assert!(event.contains("delete Endpoints other (shop/other)"), "{event}");
    approve(&leases, "somebody").await;
    assert!(manager.stop().await.success());
    let (mut manager, reason) = fixture.held(&flags).await;
    assert!(reason.contains("takeover"), "{reason}");
    assert_eq!(fixture.written(mark), [""; 0], "before the approval of this one");

    let holder = leases.get(LeaderElection::LEASE).await.unwrap().spec.unwrap().holder_identity.unwrap();
    approve(&leases, &holder).await;
    manager.ready().await;
    fixture.world.settle().await;
    fixture.event("TakeoverPassed", "the controllers start with 2 writes").await;
    assert!(manager.stop().await.success());
    let written = fixture.written(mark);
    assert!(written.contains(&"delete endpoints other".to_owned()), "{written:?}");
}

/// Annotates the Lease, as `kubectl annotate` does.
async fn approve(leases: &Api<Lease>, holder: &str) {
    let annotations = json!({"endpoint-controller-manager/takeover-approved": holder});
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    leases.patch(LeaderElection::LEASE, &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_size_writes_nothing_and_the_right_one_passes() {
    let fixture = Fixture::start().await;
    let mark = fixture.cluster.audit().mark();
    let wrong = ["--mirroring-max-endpoints-per-subset=2", "--takeover-max-writes=0"];
    let (mut manager, _) = fixture.held(&wrong).await;
    // The log is written alongside what it tells of.
    manager.process().says("Would update EndpointSlice custom-").await;
    assert!(manager.stop().await.success(), "a held takeover ends like any process");

    // Slices above a lower maximum stay until they change, as upstream leaves them.
    for flags in [["--takeover-max-writes=0", "--max-endpoints-per-slice=2"], ["--takeover-max-writes=0", ""]]
    {
        let flags: Vec<&str> = flags.into_iter().filter(|flag| !flag.is_empty()).collect();
        let manager = fixture.manager(&flags).await;
        assert!(manager.stop().await.success());
    }
    assert_eq!(fixture.written(mark), [""; 0]);
}
