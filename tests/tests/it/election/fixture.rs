//! A cluster with constant changes, and the replicas that handle them.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tests::audit::{Mark, Request};
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Kind, LeaderElection, Manager, ManagerOptions};
use tests::scenario::{self, World};
use tests::wait::{self, Calm, LIMIT};
use tokio::task::JoinSet;

use super::terms::{self, Term};

pub(crate) const LEASE_NAMESPACE: &str = "kube-system";

/// Shorter than the defaults, with the largest margin between renew deadline and lease duration that three seconds
/// allow.
pub(crate) const SHORT: LeaderElection = LeaderElection {
    lease_duration: Duration::from_secs(7),
    renew_deadline: Duration::from_secs(4),
    retry_period: Duration::from_millis(500),
};

/// [`SHORT`], or a multiple where requests take so long that a leader could lose its Lease by chance.
pub(crate) fn short(calm: Calm) -> LeaderElection {
    /// Other tests run meanwhile, and may stop everything for longer than writes took at the start.
    const LEAST: u32 = 3;
    /// With it, a lease still expires well within the limit of a condition.
    const MOST: u32 = 5;
    let needed = calm.bound(SHORT.renew_deadline);
    let times = (LEAST..MOST).find(|times| SHORT.renew_deadline * *times >= needed).unwrap_or(MOST);
    LeaderElection {
        lease_duration: SHORT.lease_duration * times,
        renew_deadline: SHORT.renew_deadline * times,
        retry_period: SHORT.retry_period * times,
    }
}

pub(crate) struct Fixture {
    pub(crate) cluster: Cluster,
    pub(crate) world: World,
    start: Mark,
    /// The time of a write.
    calm: Calm,
    /// Aborted when the fixture is dropped.
    churn: JoinSet<()>,
}

impl Fixture {
    /// On the real API server.
    pub(crate) async fn start() -> Self {
        Self::on(Cluster::start(ClusterOptions::default()).await).await
    }

    /// On the embedded API server, for what is about the program alone.
    pub(crate) async fn embedded() -> Self {
        Self::on(Cluster::embedded().await).await
    }

    async fn on(cluster: Cluster) -> Self {
        let start = cluster.audit().mark();
        cluster.allow_election().await;
        let world = World::prepare(cluster.client(), Controller::ALL).await;
        world.pod(scenario::Pod::new("web-0", "web", 0)).await;
        let spec = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
        world.service("web", json!({}), spec).await;
        let calm = Calm::measure(async |step| world.ready("web-0", step.is_multiple_of(2)).await).await;
        Self { cluster, world, start, calm, churn: JoinSet::new() }
    }

    /// The shortest durations of leader election with which no leader loses its Lease by chance.
    pub(crate) fn short(&self) -> LeaderElection {
        short(self.calm)
    }

    /// From now on, makes a pod ready and unready in turns, so that a leader always has a reason to write.
    pub(crate) fn keep_changing_a_pod(&mut self) {
        let pods: Api<Pod> = Api::namespaced(self.cluster.client(), scenario::NAMESPACE);
        self.churn.spawn(async move {
            for status in ["False", "True"].into_iter().cycle() {
                let change = json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
                // Fails while the API server is down.
                let _ = pods.patch_status("web-0", &PatchParams::default(), &Patch::Merge(change)).await;
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        });
    }

    /// Starts a replica of ours, and waits until it is ready. Its user agent has its name.
    pub(crate) async fn ours(&self, name: &str, election: LeaderElection) -> Manager {
        self.replica(Kind::Ours, election, format!("--user-agent-name={name}")).await
    }

    /// Starts a replica of upstream that contends for our Lease, and waits until it does.
    pub(crate) async fn upstream(&self, election: LeaderElection) -> Manager {
        let gate = "ControllerManagerReleaseLeaderElectionLockOnExit";
        let mark = self.cluster.audit().mark();
        let replica = self.replica(Kind::Upstream, election, format!("--feature-gates={gate}=true")).await;
        wait::until("a look at the Lease", LIMIT, async || {
            let requests = self.cluster.audit().since(mark);
            let looked = requests.iter().any(|r| r.resource == "leases" && r.program() == replica.name());
            if looked { Ok(()) } else { Err("none") }
        })
        .await;
        replica
    }

    async fn replica(&self, kind: Kind, election: LeaderElection, flag: String) -> Manager {
        let options = ManagerOptions {
            leader_election: Some(election),
            flags: vec![flag],
            ..ManagerOptions::of(Controller::ALL)
        };
        Manager::start(kind, &self.cluster, &options).await
    }

    pub(crate) fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.cluster.client(), LEASE_NAMESPACE)
    }

    pub(crate) async fn lease(&self) -> LeaseSpec {
        self.leases().get(LeaderElection::LEASE).await.unwrap().spec.unwrap()
    }

    /// Replaces the spec of the Lease, as a user with kubectl would.
    pub(crate) async fn edit_lease(&self, spec: serde_json::Value) -> Lease {
        let change = Patch::Merge(json!({ "spec": spec }));
        self.leases().patch(LeaderElection::LEASE, &PatchParams::default(), &change).await.unwrap()
    }

    /// Waits until a replica other than `previous` leads and is in sync. Returns its identity.
    pub(crate) async fn next_leader(&self, previous: &str) -> String {
        let leases = self.leases();
        let holder = wait::until("a new leader", LIMIT, async || {
            let lease = leases.get(LeaderElection::LEASE).await.map_err(|error| error.to_string())?;
            let holder = lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
            if holder.is_empty() || holder == previous {
                Err(format!("it is {holder:?}"))
            } else {
                Ok(holder)
            }
        })
        .await;
        self.world.sync().await;
        holder
    }

    /// Waits until a leader has renewed for longer than a lease lasts.
    pub(crate) async fn longer_than_a_lease(&self, election: LeaderElection) {
        let until = Timestamp::now() + election.lease_duration + election.retry_period;
        let leases = self.leases();
        wait::until("renewals", LIMIT, async || {
            let lease = leases.get(LeaderElection::LEASE).await.map_err(|error| error.to_string())?;
            let renewed = lease.spec.and_then(|spec| spec.renew_time).map(|time| time.0);
            if renewed > Some(until) { Ok(()) } else { Err(format!("renewed at {renewed:?}")) }
        })
        .await;
    }

    /// The requests of the replicas to the API server.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let mut requests = self.cluster.audit().since(self.start);
        requests.retain(|request| request.user == User::EndpointControllers.name());
        requests
    }

    /// The terms of the leaders in order. Panics if a replica wrote outside its term.
    pub(crate) fn terms(&self) -> Vec<Term> {
        terms::of(&self.requests()).unwrap_or_else(|breach| panic!("{breach}"))
    }

    /// Prints the time from `end` to the start of the last term.
    pub(crate) fn report(&self, what: &str, end: Timestamp) {
        let terms = self.terms();
        let next = terms.last().unwrap();
        let after = |time: Timestamp| time.duration_since(end).as_secs_f64();
        let first_write = next.first_write.map_or(f64::NAN, after);
        println!(
            "{what}: {} has the Lease after {:.2} s, writes after {first_write:.2} s",
            next.by,
            after(next.from)
        );
    }
}
