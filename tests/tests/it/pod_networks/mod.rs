//! The controller of pod networks next to the manager: a Service is handed over and back, and always has endpoints.

mod claims;
mod dns;
mod published;
mod tutorial;

use std::collections::BTreeMap;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{self as core, Event};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tests::audit::{Mark, Request, assert_allowed};
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::observe::Observer;
use tests::process::Process;
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::{self, LIMIT};
use tests::{binaries, requests};

use self::published::{Published, addresses};
use crate::deploy::manifests::authorized;

const CONTROLLER: &str = "pod-network-controller";
const OURS: &str = "endpointslice-controller.k8s.io";
const LABEL: &str = "service.kubernetes.io/endpoint-controller-name";
const NETWORK: &str = "k8s.v1.cni.cncf.io/service-network";
const ALONGSIDE: &str = "pod-network-controller/alongside";
const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// The network plugin's annotation for a pod whose addresses end with `number`.
fn status(number: u16) -> String {
    json!([
        {"name": "cbr0", "interface": "eth0", "ips": [format!("10.1.0.{number}")], "default": true, "dns": {}},
        {"name": "shop/storage", "interface": "net1",
            "ips": [format!("192.168.7.{number}"), format!("fd00:7::{number:x}")], "mac": "0a:58:c0:a8:07:07"},
    ])
    .to_string()
}

/// A cluster with a Service `db`, the manager, and a watcher.
struct Site {
    world: World,
    published: Observer<Published>,
    manager: Manager,
    cluster: Cluster,
    start: Mark,
}

impl Site {
    async fn start() -> Self {
        let cluster = Cluster::start(ClusterOptions::default()).await;
        allow(&cluster.client()).await;
        let start = cluster.audit().mark();
        let flags = vec!["--feature-gates=EndpointControllerNameWellKnownLabel=true".to_owned()];
        let options = ManagerOptions { flags, ..ManagerOptions::of(Controller::ALL) };
        let world = World::prepare(cluster.client(), Controller::ALL).await;
        let ports = json!([{"name": "sql", "port": 5432, "targetPort": "sql"}]);
        let spec = json!({"selector": {"app": "db"}, "ipFamilyPolicy": "RequireDualStack", "ports": ports});
        world.service("db", json!({}), spec).await;
        let published = Observer::start(world.slices().clone(), Published::of("db"));
        let manager = Manager::ours(&cluster, &options).await;
        Self { world, published, manager, cluster, start }
    }

    /// A pod of `db` on network `storage`.
    async fn pod(&self, name: &str, number: u16, network_status: &str) {
        self.world.pod(Pod::new(name, "db", number).port("sql", 15432, "TCP")).await;
        let pods: Api<core::Pod> = Api::namespaced(self.world.client().clone(), NAMESPACE);
        let change = json!({"metadata": {"annotations": {NETWORK_STATUS: network_status}}});
        pods.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// Names the network, and asks for slices without the label too.
    async fn annotate(&self, network: Option<&str>) {
        let annotations = json!({NETWORK: network, ALONGSIDE: network.map(|_| "true")});
        self.world.change_service("db", json!({"metadata": {"annotations": annotations}})).await;
    }

    /// Sets the label, and waits until the controller's slices have it too: the next change causes another write.
    async fn label(&self, controller: Option<&str>) {
        self.world.change_service("db", json!({"metadata": {"labels": {LABEL: controller}}})).await;
        let copied = |view: &Published| {
            view.labels(CONTROLLER, LABEL).iter().all(|found| found.as_deref() == controller)
        };
        let progress = |view: &Published| format!("{:?}", view.labels(CONTROLLER, LABEL));
        self.published.until("the label on the controller's slices", LIMIT, copied, progress).await;
    }

    /// Waits until exactly these controllers publish exactly these ready addresses.
    async fn until(&self, what: &str, expected: &[(&str, Vec<String>)]) {
        let by_manager =
            expected.iter().map(|(manager, addresses)| ((*manager).to_owned(), addresses.clone()));
        let expected = by_manager.collect();
        let reached = |view: &Published| view.by_manager() == expected;
        self.published.until(what, LIMIT, reached, |view| format!("{:?}", view.by_manager())).await;
    }

    fn controller(&self) -> Process {
        let kubeconfig = format!("--kubeconfig={}", self.cluster.kubeconfig(User::ThirdParty).display());
        let args = [kubeconfig, "--secure-port=0".to_owned(), "-v=2".to_owned()];
        let program = binaries::pod_network_controller();
        Process::start(CONTROLLER, &program, self.cluster.folder(), args)
    }
}

/// Grants the permissions of the controller's manifest, and those for a Lease in any namespace.
async fn allow(client: &Client) {
    let manifest = include_str!("../../../../deploy/pod-network-controller/cluster-role.yaml");
    let mut role: ClusterRole = serde_yaml::from_str(manifest).unwrap();
    let leases = json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]});
    role.rules.get_or_insert_default().push(serde_json::from_value(leases).unwrap());
    let roles: Api<ClusterRole> = Api::all(client.clone());
    roles.create(&PostParams::default(), &role).await.unwrap();
    let name = role.metadata.name.as_deref().unwrap();
    let binding = requests::binding(CONTROLLER, None, name, &requests::user(User::ThirdParty.name()));
    requests::create(client, &binding).await.unwrap();
    authorized(client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_is_handed_over_always_has_endpoints() {
    let site = Site::start().await;
    for number in [1, 2] {
        site.pod(&format!("db-{number}"), number, &status(number)).await;
    }
    let eth0 = || (OURS, addresses("10.1.0.", "fd00:1::", &[1, 2]));
    let net1 = || (CONTROLLER, addresses("192.168.7.", "fd00:7::", &[1, 2]));
    site.until("addresses of the pods' own network", &[eth0()]).await;
    site.published.with(Published::expect_no_gap);

    let mut controller = site.controller();
    site.annotate(Some("storage")).await;
    site.until("both, once the network is named", &[eth0(), net1()]).await;
    site.label(Some(CONTROLLER)).await;
    site.until("the secondary network's alone, once the Service is delegated", &[net1()]).await;

    site.pod("db-3", 3, "net1=192.168.7.3").await;
    site.pod("db-4", 4, &status(4)).await;
    let without_third = (CONTROLLER, addresses("192.168.7.", "fd00:7::", &[1, 2, 4]));
    site.until("those of a new pod, whatever another's annotation", std::slice::from_ref(&without_third))
        .await;
    event_about("db-3", &site).await;

    site.label(None).await;
    let all = || (OURS, addresses("10.1.0.", "fd00:1::", &[1, 2, 3, 4]));
    site.until("both, once the Service is no longer delegated", &[all(), without_third]).await;
    site.annotate(None).await;
    site.until("those of the pods' own network again", &[all()]).await;
    assert_eq!(site.published.with(|view| view.gaps()), Vec::<String>::new());

    controller.signal("TERM");
    let ended = controller.ended(LIMIT).await;
    assert!(ended.success(), "{ended}: {}", controller.tail());
    lease_is_released(&site).await;
    // Its manifest has the permissions that it needs.
    assert_allowed(&requests(&site).collect::<Vec<_>>());
    // For each family: created, then changed by the label, a pod and the label again.
    let writes = writes_of_slices(&site);
    assert_eq!(writes, BTreeMap::from([("create".into(), 2), ("update".into(), 6), ("delete".into(), 2)]));

    // A Service that is delegated before another controller publishes it. The watcher would have noticed the gap.
    site.label(Some("unknown.example.com")).await;
    site.until("nothing", &[]).await;
    assert_ne!(site.published.with(|view| view.gaps()), Vec::<String>::new());
    assert!(site.manager.stop().await.success());
}

async fn event_about(pod: &str, site: &Site) {
    let events: Api<Event> = Api::namespaced(site.world.client().clone(), NAMESPACE);
    let query = ListParams::default().fields("reason=MalformedNetworkStatus");
    let events = wait::until("an event about the malformed annotation", LIMIT, || async {
        let list = events.list(&query).await.map_err(|error| error.to_string())?;
        if list.items.is_empty() { Err("none".to_owned()) } else { Ok(list.items) }
    });
    let events = events.await;
    let about: Vec<_> = events.iter().map(|event| event.involved_object.name.as_deref().unwrap()).collect();
    assert!(about.iter().all(|name| *name == pod), "{about:?}");
}

fn requests(site: &Site) -> impl Iterator<Item = Request> {
    let all = site.cluster.audit().since(site.start).into_iter();
    all.filter(|request| request.user == User::ThirdParty.name())
}

/// The number of its writes of slices, by verb.
fn writes_of_slices(site: &Site) -> BTreeMap<String, usize> {
    let mut writes = BTreeMap::new();
    let of_slices = |it: &Request| it.is_write() && it.resource == "endpointslices" && !it.is_unserved();
    for request in requests(site).filter(of_slices) {
        *writes.entry(request.verb).or_default() += 1;
    }
    writes
}

async fn lease_is_released(site: &Site) {
    let leases: Api<Lease> = Api::namespaced(site.world.client().clone(), "default");
    let holder = leases.get(CONTROLLER).await.unwrap().spec.unwrap().holder_identity;
    assert_eq!(holder.unwrap_or_default(), "");
}
