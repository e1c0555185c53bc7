//! The cluster, the replicas, Prometheus, and the workload.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::binaries;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::Controller;
use tests::ports;
use tests::scenario::{Pod, World};
use tests::shadow;
use tests::wait::{self, LIMIT};
use tokio::time::sleep;

use crate::prometheus::{Prometheus, Scrape};
use crate::replicas::Replica;
use crate::rules::Alerts;

const MONITORING: &str = "monitoring";
const ACCOUNT: &str = "prometheus-k8s";
const POLL: Duration = Duration::from_millis(200);
/// The longest time until an alert fires: the age of 30 s, and a slow machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// Everything that runs. Fields drop in this order.
pub(crate) struct Stage {
    pub(crate) prometheus: Prometheus,
    pub(crate) replicas: Vec<Replica>,
    /// Not running.
    pub(crate) shadow: Replica,
    pub(crate) supervises: bool,
    pub(crate) world: World,
    pub(crate) cluster: Cluster,
    pub(crate) alerts: Alerts,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let alerts = Alerts::read();
        let cluster = Cluster::start(ClusterOptions::default()).await;
        cluster.allow_delegation().await;
        cluster.allow_election().await;
        let token = cluster.scraper(MONITORING, ACCOUNT).await;
        cluster.allow_shadow(shadow::USER).await;
        let mut replicas: Vec<Replica> = (0..2).map(|number| Replica::new(&cluster, number)).collect();
        let mut shadow = Replica::shadow(&cluster);
        let authorities = wait::until("certificates", LIMIT, || {
            replicas.iter_mut().chain([&mut shadow]).for_each(Replica::supervise);
            let certificates: Result<String, String> =
                replicas.iter().chain([&shadow]).map(Replica::certificate).collect();
            async { certificates }
        })
        .await;
        // Only its certificate was needed yet.
        shadow.kill();
        let targets: Vec<String> = replicas.iter().chain([&shadow]).map(Replica::address).collect();
        let scrape = Scrape { targets: &targets, token: &token, authorities: &authorities };
        let [port] = ports::free();
        let prometheus = Prometheus::start(cluster.folder(), port, &alerts, &scrape).await;
        let world = World::prepare(cluster.client(), Controller::ALL).await;
        let mut stage = Self { prometheus, replicas, shadow, supervises: true, world, cluster, alerts };
        stage.work().await;
        stage
    }

    /// A Service with pods, and custom Endpoints.
    async fn work(&mut self) {
        self.world.pods((0..3).map(|number| Pod::new(&format!("web-{number}"), "web", number))).await;
        let spec = json!({"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]});
        self.world.service("web", json!({}), spec).await;
        self.world.expect("web", "IPv4", 3, 3).await;
        self.until("a leader, and both replicas scraped", async |stage| {
            stage.shows("sum(leader_election_master_status) == 1").await?;
            stage.shows("count(up{job=\"endpoint-controller-manager\"} == 1) == 4").await?;
            stage.shows("sum(endpoint_slice_mirroring_controller_changes) > 0").await
        })
        .await;
    }

    /// Waits for a condition, and restarts replicas meanwhile. Returns how long it took.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        condition: impl AsyncFn(&Self) -> Result<(), String>,
    ) -> Duration {
        let start = Instant::now();
        loop {
            if self.supervises {
                self.replicas.iter_mut().for_each(Replica::supervise);
            }
            for replica in &self.replicas {
                replica.probe().await;
            }
            let Err(reason) = condition(self).await else { return start.elapsed() };
            self.prometheus.alive().unwrap_or_else(|error| panic!("{error}"));
            assert!(start.elapsed() < PATIENCE, "{what}: not within {} s: {reason}", PATIENCE.as_secs());
            sleep(POLL).await;
        }
    }

    /// Holds if the query returns a series.
    pub(crate) async fn shows(&self, query: &str) -> Result<(), String> {
        let found = self.prometheus.query(query).await?;
        if found.is_empty() { Err(format!("nothing for {query}")) } else { Ok(()) }
    }

    /// The number of the leader, as Prometheus sees it.
    pub(crate) async fn leader(&self) -> Result<usize, String> {
        let found = self.prometheus.query("leader_election_master_status == 1").await?;
        let [series] = &found[..] else { return Err(format!("{} leaders", found.len())) };
        let address = series["metric"]["instance"].as_str().unwrap_or_default();
        self.replicas
            .iter()
            .position(|replica| replica.address() == address)
            .ok_or_else(|| address.to_owned())
    }

    /// The environment of the commands in runbooks: a folder for `PATH`, and a kubeconfig.
    pub(crate) fn tools(&self) -> (PathBuf, PathBuf) {
        let folder = self.cluster.folder().join("tools");
        if !folder.exists() {
            std::fs::create_dir(&folder).expect("creating a folder");
            let promtool =
                std::env::var_os("PROMTOOL").expect("PROMTOOL names the program: use cargo xtask alerts");
            for (name, program) in [
                ("kubectl", binaries::servers().kubectl().expect("kubectl is built")),
                ("promtool", PathBuf::from(promtool)),
                ("kubectl-endpoints", binaries::kubectl_endpoints()),
            ] {
                std::os::unix::fs::symlink(program, folder.join(name)).expect("a link");
            }
        }
        (folder, self.cluster.kubeconfig(User::Admin))
    }
}
