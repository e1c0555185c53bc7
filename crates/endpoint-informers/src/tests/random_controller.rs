//! Random histories of a process as an author of rules has it, with faults: at rest its slices are a function of the cluster.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::print_stderr,
    reason = "tests fail by panicking, and so do their helpers; objects are made to be given away"
)]

mod cluster;
mod network;
mod oracle;

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::thread::panicking;
use std::time::Duration;

use endpointslice::desired::endpoint_ports;
use endpointslice::{AddressType, DesiredEndpoints, Interner, Pod, Service, desired_from_service};
use k8s_openapi::api::discovery::v1::Endpoint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::{ApiClient, Encoding, RateLimiter};
use serde::Deserialize;
use serde::de::Error as _;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use self::cluster::Cluster;
use self::network::Network;
use self::oracle::{published, versions};
use crate::cache::CachedResource as _;
use crate::custom::CustomResource;
use crate::list_watch::Informers;
use crate::manager::{Manager, ManagerError};
use crate::reconciler::{Context, ServiceQueue, SliceReconciler};
use crate::resource::Resource;

/// Annotation of a Service that is published: the end of an address.
const PUBLISH: &str = "example.com/publish";
/// Annotation of a pod that is not published.
const HIDE: &str = "example.com/hide";
/// Annotation of custom objects: the end of an address.
const NUMBER: &str = "example.com/number";

/// A number for the Service of the same name; or, of a cluster-scoped kind, for those of the namespace of this name. The server knows
/// no custom kinds: others stand for them.
struct Custom<const CLUSTER: bool> {
    metadata: ObjectMeta,
    number: Option<u8>,
}

#[derive(Deserialize)]
struct Object {
    metadata: ObjectMeta,
}

impl<const CLUSTER: bool> Resource for Custom<CLUSTER> {
    const KIND: &'static str = if CLUSTER { "Site" } else { "Extra" };
    const RESOURCE: &'static str = if CLUSTER { "sites" } else { "extras" };
    const PATH: &'static str = if CLUSTER { "/api/v1/namespaces" } else { "/api/v1/serviceaccounts" };
    const NAMESPACED: bool = !CLUSTER;
    type Index = ();

    fn read_json(json: &str, _: &mut Interner) -> Result<(Self, String), serde_json::Error> {
        let Object { metadata } = serde_json::from_str(json)?;
        let number = metadata.annotations.as_ref().and_then(|annotations| annotations.get(NUMBER));
        let number = number.map(|text| text.parse()).transpose().map_err(serde_json::Error::custom)?;
        let version = metadata.resource_version.clone().unwrap_or_default();
        Ok((Self { metadata, number }, version))
    }

    fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<const CLUSTER: bool> CustomResource for Custom<CLUSTER> {}

type Extra = Custom<false>;
type Site = Custom<true>;

/// Publishes pods, and an address for each number that a Service has: its annotation, custom objects, and a file.
struct Rules(watch::Receiver<u8>);

impl SliceReconciler for Rules {
    const NAME: &'static str = "random.example.com";
    const ANNOTATIONS: &'static [&'static str] = &[PUBLISH, HIDE];

    fn publishes(&self, service: &Service) -> bool {
        service.annotations.get(PUBLISH).is_some()
    }

    fn desired(&self, context: &Context<'_>) -> DesiredEndpoints {
        let service = context.service();
        let is_shown = |pod: &&Pod| pod.labels.get("drain").is_none() && pod.annotation(HIDE).is_none();
        let pods = context.pods().filter(is_shown);
        let mut desired = desired_from_service(service, pods, |name| context.node(name));
        let annotation = service.annotations.get(PUBLISH).and_then(|text| text.parse().ok());
        let (extra, site) = context.read(|state| {
            let extra = Extra::table(state).get(&service.namespace, &service.name);
            let site = Site::table(state).get("", &service.namespace);
            (extra.and_then(|it| it.number), site.and_then(|it| it.number))
        });
        for (source, number) in (1..).zip([annotation, extra, site, Some(*self.0.borrow())]) {
            let Some(number) = number else { continue };
            let addresses = vec![format!("172.16.{source}.{number}")];
            let endpoint = Endpoint { addresses, ..Endpoint::default() };
            desired.insert(AddressType::Ipv4, endpoint_ports(service, &[]), endpoint);
        }
        desired
    }

    fn start_informers(&self, informers: &mut Informers) {
        informers.start(informers.of::<Extra>());
        informers.start(informers.of::<Site>());
        // As another source of the same rules may.
        informers.start(informers.of::<Extra>());
    }

    async fn follow(&self, services: &ServiceQueue) -> Infallible {
        let mut file = self.0.clone();
        while file.changed().await.is_ok() {
            services.add_where(|_| true);
        }
        pending().await
    }
}

/// A history.
struct History {
    seed: u64,
    cluster: Cluster,
    network: Arc<Network>,
    process: Option<(oneshot::Sender<()>, JoinHandle<Result<(), ManagerError>>)>,
}

impl Drop for History {
    fn drop(&mut self) {
        if panicking() {
            let (log, seed) = (&self.cluster.log, self.seed);
            eprintln!(
                "{log:#?}\nReplay: RECONCILER_FROM={seed} RECONCILER_SEEDS=1 cargo test -p endpoint-informers at_rest"
            );
        }
    }
}

/// No list-watch that was refused takes longer until it shows all.
const QUIET: Duration = Duration::from_secs(100);
/// No Service waits longer: its back-off ends at 1000 s.
const LIMIT: Duration = Duration::from_secs(3600);

impl History {
    fn start(&mut self) {
        let encoding = [Encoding::Json, Encoding::Protobuf][usize::from(self.seed % 2 == 1)];
        let mut manager = Manager::new(ApiClient::new(self.network.connect(), encoding, Rules::NAME));
        if self.seed.is_multiple_of(3) {
            manager = manager.with_leader_election("default");
        }
        if self.seed.is_multiple_of(5) {
            manager = manager.with_rate_limit(RateLimiter::new(2.0, 2));
        }
        let (rules, (stop, stopped)) = (Rules(self.cluster.file.subscribe()), oneshot::channel::<()>());
        let running = tokio::spawn(async move { manager.run(rules, async { drop(stopped.await) }).await });
        self.process = Some((stop, running));
    }

    /// Ends the process, by a signal or at once.
    async fn stop(&mut self, at_once: bool) {
        let (stop, running) = self.process.take().unwrap();
        drop(stop);
        if at_once {
            running.abort();
        } else {
            running.await.unwrap().unwrap();
        }
        self.network.state.lock().process += 1;
    }

    /// Some operations, with a fault and perhaps a restart.
    async fn step(&mut self) {
        self.network.break_something(&mut self.cluster);
        let restart = self.cluster.random.u8(..12);
        if restart < 2 {
            self.cluster.log.push(format!("restart {restart}"));
            self.stop(restart == 0).await;
        }
        for _ in 0..self.cluster.random.u8(2..7) {
            let is_of_slices = self.cluster.operate().await;
            let right = versions(&self.cluster.server, &self.cluster.expected());
            let is_kept =
                |address: &String, version: &mut String| right.get(address) == Some(version) && !is_of_slices;
            self.network.state.lock().kept.retain(is_kept);
            let longest = if self.cluster.random.u8(..40) == 0 { 400_000 } else { 800 };
            sleep(Duration::from_millis(self.cluster.random.u64(..longest))).await;
        }
        if restart < 2 {
            self.start();
        }
    }

    /// Ends all faults, and waits until nothing is written any more. Then the slices are what the cluster's objects say.
    async fn rest(&mut self, is_unserved: bool, quiet: Duration) {
        self.network.heal(is_unserved);
        let is_followed = !is_unserved && self.cluster.is_readable();
        let writes = || self.network.state.lock().written;
        let (began, mut rested, mut written) = (Instant::now(), Instant::now(), writes());
        loop {
            sleep(Duration::from_secs(5)).await;
            if written != writes() {
                (rested, written) = (Instant::now(), writes());
            }
            assert!(began.elapsed() < 2 * LIMIT, "writes without end");
            if rested.elapsed() < quiet {
                continue;
            }
            let (expected, published) = (self.cluster.expected(), published(&self.cluster.server));
            if !is_followed || expected == published {
                break;
            }
            let [missing, wrong] = [(&expected, &published), (&published, &expected)]
                .map(|(a, b)| a.difference(b).collect::<Vec<_>>());
            assert!(began.elapsed() < LIMIT, "missing {missing:#?}, wrong {wrong:#?}");
        }
        assert!(!self.process.as_ref().unwrap().1.is_finished(), "the process has ended");
        self.cluster.check_others();
        let mut state = self.network.state.lock();
        assert!(state.wrong.is_empty(), "{:#?}", state.wrong);
        if is_followed {
            state.kept = versions(&self.cluster.server, &self.cluster.expected());
        }
    }
}

async fn history(seed: u64) {
    fastrand::seed(seed);
    let cluster = Cluster::new(seed).await;
    let network = Network::new(cluster.server.clone());
    let mut history = History { seed, cluster, network, process: None };
    history.start();
    // The kind of a custom resource may be installed after its controller.
    let served_from = if seed.is_multiple_of(4) { 4 } else { 0 };
    for step in 0..16 {
        let is_unserved = step < served_from;
        history.network.heal(is_unserved);
        history.step().await;
        history.rest(is_unserved, QUIET).await;
        assert!(
            !is_unserved || history.network.state.lock().written == 0,
            "written before all kinds are served"
        );
    }
    history.cluster.repair().await;
    history.network.state.lock().kept.clear();
    history.rest(false, LIMIT / 2).await;
    history.stop(false).await;
}

/// `RECONCILER_SEEDS` is the number of histories, `RECONCILER_FROM` the first seed.
#[tokio::test(start_paused = true)]
async fn slices_at_rest_are_a_function_of_the_cluster() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let from = number("RECONCILER_FROM", 0);
    for seed in from..from + number("RECONCILER_SEEDS", 20) {
        history(seed).await;
    }
}
