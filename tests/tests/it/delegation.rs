//! Services of other controllers (KEP-4770), with our program on the embedded API server, its feature gate switched by restarts.
//!
//! Each controller alone, with every order of events: `delegation` of `endpoints-controller` and `endpointslice-controller`,
//! `selection` of `endpointslice-mirroring-controller`.

use serde_json::{Value, json};
use tests::audit::Mark;
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::requests::{create, list, must};
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::{self, LIMIT};

const LABEL: &str = "service.kubernetes.io/endpoint-controller-name";
const DELEGATION: &str = "EndpointControllerNameWellKnownLabel=true";
/// All gates at their defaults.
const DEFAULTS: &str = "";

/// Objects of other controllers and of users.
const THEIRS: [&str; 2] = ["Endpoints of custom: 192.0.2.2", "EndpointSlice of web by them: 192.0.2.1"];
const OURS: [&str; 3] = [
    "Endpoints of web: 10.1.0.1",
    "EndpointSlice of custom by endpointslicemirroring-controller.k8s.io: 192.0.2.2",
    "EndpointSlice of web by endpointslice-controller.k8s.io: 10.1.0.1",
];
/// The writes that leave nothing of ours, in order of their names.
const DELETIONS: [&str; 3] = ["delete endpoints", "delete endpointslices", "delete endpointslices"];

/// A cluster with all three controllers of ours.
struct Site {
    cluster: Cluster,
    world: World,
    manager: Manager,
}

async fn manager(cluster: &Cluster, gates: &str) -> Manager {
    let flags = vec![format!("--feature-gates={gates}")];
    let options = ManagerOptions { flags, ..ManagerOptions::of(Controller::ALL) };
    Manager::ours(cluster, &options).await
}

impl Site {
    /// A Service with a pod and one with custom Endpoints, both with the label, and a slice of another controller. The gate is off.
    async fn start() -> Self {
        let cluster = Cluster::embedded().await;
        let mut world = World::prepare(cluster.client(), Controller::ALL).await;
        let manager = manager(&cluster, DEFAULTS).await;
        world.watch_workers(manager.pages());
        world.pod(Pod::new("web-1", "web", 1).ips(&["10.1.0.1"])).await;
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "theirs", "namespace": NAMESPACE, "labels": {
                "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "them",
            }},
            "endpoints": [{"addresses": ["192.0.2.1"]}], "ports": [],
        });
        create(world.client(), &slice).await.unwrap();
        world.endpoints("custom", json!({"addresses": [{"ip": "192.0.2.2"}]})).await;
        for (name, selector) in [("web", json!({"app": "web"})), ("custom", Value::Null)] {
            let spec = json!({"selector": selector, "ports": [{"port": 80}], "ipFamilies": ["IPv4"]});
            world.service(name, json!({LABEL: "external"}), spec).await;
        }
        Self { cluster, world, manager }
    }

    /// Starts our program again with these gates.
    async fn restart(self, gates: &str) -> Self {
        let Self { cluster, mut world, manager: before } = self;
        assert!(before.stop().await.success());
        let manager = manager(&cluster, gates).await;
        world.watch_workers(manager.pages());
        Self { cluster, world, manager }
    }

    /// Sets the label of both Services, or removes it.
    async fn label(&self, value: Option<&str>) {
        for service in ["web", "custom"] {
            self.world.change_service(service, json!({"metadata": {"labels": {LABEL: value}}})).await;
        }
    }

    /// Waits until exactly these objects are published, also after our program has handled all changes. Returns its writes since
    /// a mark, in order of their names.
    async fn expect(&self, what: &str, since: Mark, objects: &[&[&str]]) -> Vec<String> {
        let mut expected = objects.concat();
        expected.sort_unstable();
        let published = async || match self.published().await {
            published if published == expected => Ok(()),
            published => Err(format!("{published:#?} instead of {expected:#?}")),
        };
        wait::until(what, LIMIT, published).await;
        self.world.settle().await;
        published().await.unwrap_or_else(|error| panic!("{what}: {error}"));
        let mut writes = self.cluster.audit().writes_since(since, User::EndpointControllers);
        writes.retain(|write| write.namespace == NAMESPACE);
        let mut writes: Vec<String> =
            writes.iter().map(|write| format!("{} {}", write.verb, write.resource)).collect();
        writes.sort();
        writes
    }

    /// The Endpoints and slices of both Services, with their addresses.
    async fn published(&self) -> Vec<String> {
        let mut published = Vec::new();
        for resource in ["api/v1", "apis/discovery.k8s.io/v1"] {
            let kind = if resource == "api/v1" { "endpoints" } else { "endpointslices" };
            let path = format!("/{resource}/namespaces/{NAMESPACE}/{kind}");
            published.extend(list(self.world.client(), &path).await.iter().map(text));
        }
        published.sort();
        published
    }

    fn mark(&self) -> Mark {
        self.cluster.audit().mark()
    }
}

fn text(object: &Value) -> String {
    let labels = &object["metadata"]["labels"];
    let texts = |list: &Value, field: &str| {
        let items = list.as_array().into_iter().flatten();
        items
            .map(|item| item[field].as_str().or(item[field][0].as_str()).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    if object["kind"] == "Endpoints" {
        let addresses = texts(&object["subsets"][0]["addresses"], "ip");
        return format!(
            "Endpoints of {}: {}",
            object["metadata"]["name"].as_str().unwrap(),
            addresses.join(" ")
        );
    }
    let [service, manager] = ["kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"]
        .map(|label| labels[label].as_str().unwrap_or_default());
    let addresses = texts(&object["endpoints"], "addresses");
    format!("EndpointSlice of {service} by {manager}: {}", addresses.join(" "))
}

/// The requirements of KEP-4770: with the gate, a Service that gets the label loses its Endpoints and slices, and has them again
/// without it; without the gate the label has no effect. Nothing of others is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_objects_go_with_the_label_and_come_back_and_those_of_others_stay() {
    let site = Site::start().await;
    site.expect("all of them without the gate", site.mark(), &[&OURS, &THEIRS]).await;
    let start = site.mark();
    let site = site.restart(DELEGATION).await;
    assert_eq!(site.expect("ours gone with the gate", start, &[&THEIRS]).await, DELETIONS);
    let start = site.mark();
    let site = site.restart(DELEGATION).await;
    assert_eq!(site.expect("no change at a restart", start, &[&THEIRS]).await, [""; 0]);

    let start = site.mark();
    site.label(None).await;
    let writes = site.expect("ours back without the label", start, &[&OURS, &THEIRS]).await;
    assert_eq!(writes, DELETIONS.map(|write| write.replace("delete", "create")));
    let start = site.mark();
    site.label(Some("")).await;
    assert_eq!(site.expect("ours gone with any label", start, &[&THEIRS]).await, DELETIONS);

    // Another controller writes the Endpoints of the Service too.
    let start = site.mark();
    let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web"},
        "subsets": [{"addresses": [{"ip": "192.0.2.3"}]}]});
    let path = format!("/api/v1/namespaces/{NAMESPACE}/endpoints");
    must(site.world.client(), "POST", &path, &endpoints).await;
    site.label(Some("another")).await;
    site.world.ready("web-1", false).await;
    let delegated = [&THEIRS[..], &["Endpoints of web: 192.0.2.3"]];
    assert_eq!(site.expect("no change with another label", start, &delegated).await, [""; 0]);
    site.world.ready("web-1", true).await;
    let site = site.restart(DEFAULTS).await;
    site.expect("all of them again without the gate", start, &[&OURS, &THEIRS]).await;
    assert!(site.manager.stop().await.success());
}
