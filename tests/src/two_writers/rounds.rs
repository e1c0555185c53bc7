//! Rounds in which upstream is killed and started again.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Endpoints, Event};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::{OURS, UPSTREAM, all_counted, foreign_writes, yielding};
use crate::audit::{Mark, Request};
use crate::cluster::{Cluster, ClusterOptions};
use crate::manager::{Controller, LeaderElection, Manager, ManagerOptions};
use crate::parity::is_of_endpoints;
use crate::scenario::{NAMESPACE, Pod, World};
use crate::wait::{self, Calm, LIMIT};

/// One round.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// The time that such a change took upstream before it was killed.
    pub calm: Calm,
    /// The time from the first change without upstream until all its objects were written by ours.
    pub takeover: Duration,
    /// The same of the second change.
    pub acting: Duration,
}

/// A cluster with a Service, a pod and custom Endpoints: one object for each controller.
struct Scene {
    cluster: Cluster,
    world: World,
    options: ManagerOptions,
    ours: Manager,
    changes: u16,
}

const SERVICE: &str = "web";
const CUSTOM: &str = "custom";

/// Runs rounds: upstream is killed, and ours acts within the grace; upstream starts again, and ours yields after one write of
/// each of its controllers.
///
/// # Panics
/// If one does not write what it must, or writes what it must not.
pub async fn run(rounds: usize) -> Vec<Round> {
    let mut scene = Scene::start().await;
    let mut upstream = scene.start_upstream().await;
    let mut results = Vec::new();
    for _ in 0..rounds {
        // Of two that write at once, ours yields.
        let calm = Calm::longest([scene.change_by(UPSTREAM).await]);
        upstream.process().kill();
        drop(upstream);
        let takeover = scene.change_by(OURS).await;
        scene.expect_status("acts").await;
        let acting = scene.change_by(OURS).await;
        results.push(Round { calm, takeover, acting });
        upstream = scene.start_upstream().await;
    }
    scene.change_by(UPSTREAM).await;
    results
}

impl Scene {
    async fn start() -> Self {
        Self::start_with(None).await
    }

    /// Starts ours with an election.
    async fn start_with(leader_election: Option<LeaderElection>) -> Self {
        let cluster =
            Cluster::start(ClusterOptions { audit_responses: true, ..ClusterOptions::default() }).await;
        cluster.allow_election().await;
        let world = World::prepare(cluster.client(), Controller::ALL).await;
        let ports = json!([{"name": "http", "port": 80}]);
        world
            .service(
                SERVICE,
                json!({}),
                json!({"selector": {"app": SERVICE}, "ports": ports, "ipFamilies": ["IPv4"]}),
            )
            .await;
        world.service(CUSTOM, json!({}), json!({"ports": ports})).await;
        world.pod(Pod::new(SERVICE, SERVICE, 1)).await;
        let endpoints = json!({
            "metadata": {"name": CUSTOM},
            "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"name": "http", "port": 80}]}],
        });
        let endpoints = serde_json::from_value(endpoints).expect("Endpoints");
        let api: Api<Endpoints> = Api::namespaced(cluster.client(), NAMESPACE);
        api.create(&PostParams::default(), &endpoints).await.expect("creating Endpoints");
        let options = ManagerOptions::of(Controller::ALL);
        let ours = ManagerOptions { leader_election, ..yielding(&options) };
        let ours = Manager::ours(&cluster, &ours).await;
        Self { cluster, world, options, ours, changes: 0 }
    }

    /// Starts upstream, and makes it write each object once, while ours is stopped; ours then sees that, and yields.
    async fn start_upstream(&mut self) -> Manager {
        let before = foreign_writes(&self.ours).await;
        self.ours.process().freeze().await;
        let mark = self.cluster.audit().mark();
        let upstream = Manager::upstream(&self.cluster, &self.options);
        self.change().await;
        self.expect_written(UPSTREAM, mark).await;
        self.ours.process().signal("CONT");
        let made = writes(&self.cluster.audit().since(mark), UPSTREAM);
        wait::until("foreign writes to be counted", LIMIT, || async {
            let counted: u64 = foreign_writes(&self.ours).await.values().sum();
            let counted = counted - before.values().sum::<u64>();
            if counted >= made as u64 { Ok(()) } else { Err(format!("{counted} of {made}")) }
        })
        .await;
        self.expect_status(&format!("yields to \"{UPSTREAM}\"")).await;
        upstream
    }

    /// Makes a change that `program` alone writes. Returns the time until it has.
    async fn change_by(&mut self, program: &str) -> Duration {
        let mark = self.cluster.audit().mark();
        let start = Instant::now();
        self.change().await;
        self.expect_written(program, mark).await;
        let took = start.elapsed();
        let requests = self.cluster.audit().since(mark);
        let other = if program == OURS { UPSTREAM } else { OURS };
        assert_eq!(writes(&requests, other), 0, "{other} wrote: {requests:#?}");
        took
    }

    /// Changes the address of the pod and of the custom Endpoints.
    async fn change(&mut self) {
        self.changes += 1;
        let address = self.address();
        self.world.ips(SERVICE, &[&address]).await;
        let api: Api<Endpoints> = Api::namespaced(self.cluster.client(), NAMESPACE);
        let patch = Patch::Merge(json!({
            "subsets": [{"addresses": [{"ip": address}], "ports": [{"name": "http", "port": 80}]}],
        }));
        api.patch(CUSTOM, &PatchParams::default(), &patch).await.expect("changing Endpoints");
    }

    fn address(&self) -> String {
        let [high, low] = self.changes.to_be_bytes();
        format!("10.8.{high}.{low}")
    }

    /// Waits until each object has the last address, by a write of `program` that is in the audit log after `mark`. A write can
    /// be seen before that, and would be taken for one of the next step.
    async fn expect_written(&self, program: &str, mark: Mark) {
        let address = self.address();
        let api: Api<Endpoints> = Api::namespaced(self.cluster.client(), NAMESPACE);
        wait::until(&format!("{address} by {program}"), LIMIT, || async {
            let error = |error: kube::Error| error.to_string();
            let endpoints = api.get(SERVICE).await.map_err(error)?;
            let mut objects = vec![(
                endpoints.resource_version().unwrap_or_default(),
                serde_json::to_value(&endpoints.subsets).expect("JSON").to_string(),
            )];
            for service in [SERVICE, CUSTOM] {
                for slice in self.world.slices_of(service, "IPv4").await? {
                    let content = serde_json::to_value(&slice.endpoints).expect("JSON").to_string();
                    objects.push((slice.resource_version().unwrap_or_default(), content));
                }
            }
            let requests = self.cluster.audit().since(mark);
            let is_right = |(version, content): &(String, String)| {
                let is_its_write = |request: &Request| {
                    request.version.as_ref() == Some(version) && request.program() == program
                };
                content.contains(&address) && requests.iter().any(is_its_write)
            };
            if objects.len() == 3 && objects.iter().all(is_right) {
                Ok(())
            } else {
                Err(format!("{objects:?}"))
            }
        })
        .await;
    }

    /// Waits until `/statusz` shows this of each controller.
    async fn expect_status(&self, turn: &str) {
        wait::until(&format!("/statusz with {turn}"), LIMIT, || async {
            let (_, text) = self.ours.get("/statusz").await;
            if text.matches(turn).count() == Controller::ALL.len() { Ok(()) } else { Err(text) }
        })
        .await;
    }
}

impl Scene {
    /// Waits for an event about the Lease from each controller that yields.
    async fn expect_events(&self) {
        let events: Api<Event> = Api::namespaced(self.cluster.client(), "kube-system");
        wait::until("events about the Lease", LIMIT, || async {
            let all = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
            let detected = all.items.iter().filter(|event| {
                event.reason.as_deref() == Some("OtherWriterDetected")
                    && event.type_.as_deref() == Some("Warning")
                    && event.involved_object.kind.as_deref() == Some("Lease")
                    && event.involved_object.name.as_deref() == Some(LeaderElection::LEASE)
                    && event.involved_object.uid.is_some()
            });
            let messages: Vec<&str> = detected.filter_map(|event| event.message.as_deref()).collect();
            let of = |controller: &Controller| {
                let starts =
                    format!("Field manager \"{UPSTREAM}\" writes the objects of {} too", controller.name());
                messages.iter().filter(|message| message.starts_with(&starts)).count() == 1
            };
            if Controller::ALL.iter().all(of) { Ok(()) } else { Err(format!("{:#?}", all.items)) }
        })
        .await;
    }
}

/// The accepted writes of Endpoints and slices by a program, those of users aside.
fn writes(requests: &[Request], program: &str) -> usize {
    let is_write = |request: &&Request| request.is_write() && request.code < 300 && is_of_endpoints(request);
    requests.iter().filter(is_write).filter(|request| request.program() == program).count()
}

/// Ours counts exactly the writes of upstream, and no deletion; one event for each controller names upstream.
///
/// # Panics
/// If it counts another number, or there are other events.
pub async fn counts() {
    // No machine is so slow that ours loses the Lease, which is not the subject.
    let election =
        LeaderElection { lease_duration: 2 * LIMIT, renew_deadline: LIMIT, ..LeaderElection::DEFAULT };
    let scene = Scene::start_with(Some(election)).await;
    let mark = scene.cluster.audit().mark();
    let upstream = Manager::upstream(&scene.cluster, &scene.options);
    scene.world.sync().await;
    scene.world.settle().await;
    all_counted(&scene.ours, &scene.cluster, mark, Controller::ALL).await;
    scene.expect_events().await;
    upstream.stop().await;
}
