//! The environment of the demo: the cluster, the manager, the watch on slices, and the terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tests::audit::{Mark, Request};
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Kind, LeaderElection, Manager};
use tests::observe::Observer;
use tests::requests::create;
use tests::wait::LIMIT;

use crate::nodes_at_work::NodesAtWork;
use crate::prometheus::Prometheus;
use crate::slice_table::SliceTable;
use crate::table::Table;

pub(crate) const NAMESPACE: &str = "shop";

/// The time to wait for superfluous writes, of which there are none.
const AFTERMATH: Duration = Duration::from_millis(200);

/// Time to read the terminal.
const PAUSE: Duration = Duration::from_millis(1_700);

pub(crate) struct Fixture {
    // Dropped in this order, if the demo is interrupted: the manager before its cluster.
    manager: Option<Manager>,
    observer: Observer<SliceTable>,
    pub(crate) nodes: NodesAtWork,
    pub(crate) cluster: Cluster,
    prometheus: Prometheus,
    kind: Kind,
    table: Table,
    steps: usize,
    pauses: bool,
    bold: bool,
}

/// A step that has begun.
#[derive(Debug)]
pub(crate) struct Step {
    mark: Mark,
    begun: Instant,
}

impl Step {
    /// The time since it began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl Fixture {
    /// Starts the servers.
    pub(crate) async fn start(kind: Kind, real: bool, pauses: bool) -> Self {
        let begun = Instant::now();
        let (cluster, servers) = if real {
            (Cluster::start(ClusterOptions::default()).await, "kube-apiserver and etcd are")
        } else {
            (Cluster::embedded().await, "an API server in memory is")
        };
        let client = cluster.client();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        create(&client, &namespace).await.expect("creating a namespace");
        cluster.allow_election().await;
        cluster.allow_delegation().await;
        let prometheus = Prometheus::prepare(&cluster).await;
        let version = client.apiserver_version().await.expect("asking for the version").git_version;
        println!("{servers} ready after {:.1} s: Kubernetes {version}", begun.elapsed().as_secs_f64());
        let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
        #[expect(clippy::disallowed_methods, reason = "nothing is written")]
        let terminal = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self {
            manager: None,
            observer: Observer::start(slices, SliceTable::default()),
            nodes: NodesAtWork::new(client, NAMESPACE),
            cluster,
            prometheus,
            kind,
            table: Table::default(),
            steps: 0,
            pauses,
            bold: terminal && std::env::var_os("TERM").is_some_and(|term| term != "dumb"),
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.cluster.client()
    }

    /// Prints a description of the step that follows.
    pub(crate) fn begin(&mut self, what: &str) -> Step {
        self.steps += 1;
        let title = format!("{:2}. {what}", self.steps);
        println!("\n{}", if self.bold { format!("\x1b[1m{title}\x1b[0m") } else { title });
        Step { mark: self.cluster.audit().mark(), begun: Instant::now() }
    }

    /// Waits until the slices reach a state, and prints them.
    pub(crate) async fn end(&mut self, step: Step, since: &str, reached: impl Fn(&SliceTable) -> bool) {
        self.until(reached).await;
        let took = milliseconds(step.elapsed());
        self.show(&step, &format!("in the slices {took} after {since}")).await;
    }

    /// Waits until the slices reach a state.
    pub(crate) async fn until(&self, reached: impl Fn(&SliceTable) -> bool) {
        let progress = |slices: &SliceTable| Table::default().slices(slices);
        self.observer.until("the slices to follow", LIMIT, reached, progress).await;
    }

    /// Prints the slices, the Endpoints that changed, and the writes since the step began.
    pub(crate) async fn show(&mut self, step: &Step, remark: &str) {
        tokio::time::sleep(AFTERMATH).await;
        let writes = self.writes_since(step);
        println!("    {}; {remark}", summary(&writes));
        let endpoints = self.endpoints().list(&ListParams::default()).await.expect("listing Endpoints");
        print!("{}", self.observer.with(|slices| self.table.slices(slices)));
        print!("{}", self.table.changed_endpoints(&endpoints.items));
        if self.pauses {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Reads the slices.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&SliceTable) -> T) -> T {
        self.observer.with(|slices| at(slices))
    }

    /// The writes of slices and Endpoints, without those of the Lease, reviews and events.
    fn writes_since(&self, step: &Step) -> Vec<Request> {
        let mut writes = self.cluster.audit().writes_since(step.mark, User::EndpointControllers);
        writes.retain(Request::is_of_endpoints);
        writes
    }

    /// Adds a label to a Service.
    pub(crate) async fn label(&self, service: &str, key: &str, value: &str) {
        let services: Api<Service> = Api::namespaced(self.client(), NAMESPACE);
        let change = Patch::Merge(json!({"metadata": {"labels": {key: value}}}));
        services.patch(service, &PatchParams::default(), &change).await.expect("labelling a Service");
    }

    /// Writes custom Endpoints, as a user does.
    pub(crate) async fn change_endpoints(&self, name: &str, change: Value) {
        let change = Patch::Merge(change);
        self.endpoints().patch(name, &PatchParams::default(), &change).await.expect("changing Endpoints");
    }

    fn endpoints(&self) -> Api<Endpoints> {
        Api::namespaced(self.client(), NAMESPACE)
    }

    /// Starts the manager with its defaults. Returns the time that it took to become ready.
    pub(crate) async fn start_manager(&mut self) -> String {
        let begun = Instant::now();
        self.manager = Some(Manager::with_defaults(self.kind, &self.cluster).await);
        format!("ready {} after its start", milliseconds(begun.elapsed()))
    }

    /// The name of the leader.
    pub(crate) async fn leader(&self) -> String {
        let leases: Api<Lease> = Api::namespaced(self.client(), "kube-system");
        let lease = leases.get(LeaderElection::LEASE).await.expect("reading the Lease");
        lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default()
    }

    /// Reads the manager's metrics, as Prometheus does. Returns some of them.
    pub(crate) async fn scrape(&self) -> Vec<String> {
        let manager = self.manager.as_ref().expect("the manager runs");
        self.prometheus.scrape(manager.pages()).await
    }

    /// Stops the manager. Returns the resources that it used.
    pub(crate) async fn stop_manager(&mut self) -> String {
        let manager = self.manager.take().expect("the manager runs");
        let (name, usage) = (manager.name(), manager.usage());
        let status = manager.stop().await;
        format!(
            "{name} used {:.2} s of processor time and at most {} MB; asked to end, it ended with {status}",
            usage.cpu.as_secs_f64(),
            usage.peak_rss / 1_000_000,
        )
    }
}

/// `3 writes (1 create, 2 updates)`
fn summary(writes: &[Request]) -> String {
    let mut verbs: BTreeMap<&str, usize> = BTreeMap::new();
    for write in writes {
        *verbs.entry(&write.verb).or_default() += 1;
    }
    let verbs: Vec<String> = verbs.into_iter().map(|(verb, count)| plural(count, verb)).collect();
    if verbs.is_empty() {
        "0 writes".to_owned()
    } else {
        format!("{} ({})", plural(writes.len(), "write"), verbs.join(", "))
    }
}

pub(crate) fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

pub(crate) fn milliseconds(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
