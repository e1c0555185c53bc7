//! `audit --fix`: the audit log of the API server shows that only objects of the controllers were written.

use std::collections::BTreeSet;
use std::process::Output;

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::audit::Request;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::wait::LIMIT;
use tests::{binaries, process};

const NAMESPACE: &str = "shop";
const SLICES: &str = "endpointslice-controller.k8s.io";
const MIRROR: &str = "endpointslicemirroring-controller.k8s.io";
const OTHER: &str = "mesh.example";

/// Plants defects in a cluster without controllers: each in objects of ours, of another manager, and of users.
async fn break_objects(cluster: &Cluster) {
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    create(&Api::<Namespace>::all(cluster.client()), namespace).await;
    let services: Api<Service> = Api::namespaced(cluster.client(), NAMESPACE);
    let web =
        json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    let web = create(&services, web).await.metadata.uid.unwrap();
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.client(), NAMESPACE);
    let owner = json!([{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": web}]);
    for (manager, prefix) in [(SLICES, "ours"), (OTHER, "other")] {
        let orphan = slice(&format!("{prefix}-orphan"), "vanished", manager, &json!([]));
        create(&slices, orphan).await;
        create(&slices, slice(&format!("{prefix}-stripped"), "web", manager, &json!([]))).await;
        let mut hidden = slice(&format!("{prefix}-hidden"), "web", manager, &owner);
        hidden["metadata"]["labels"]["service.kubernetes.io/headless"] = "".into();
        create(&slices, hidden).await;
        let mut nameless = slice(&format!("{prefix}-nameless"), "", manager, &owner);
        nameless["metadata"]["labels"].as_object_mut().unwrap().remove("kubernetes.io/service-name");
        create(&slices, nameless).await;
    }
    create(&slices, slice("ours-mirror", "vanished", MIRROR, &json!([]))).await;
    let endpoints: Api<Endpoints> = Api::namespaced(cluster.client(), NAMESPACE);
    let managed = json!({"endpoints.kubernetes.io/managed-by": "endpoint-controller"});
    create(&endpoints, json!({"metadata": {"name": "ours", "labels": managed}})).await;
    create(&endpoints, json!({"metadata": {"name": "users"}})).await;
    let state = json!({"name": "patroni", "labels": managed, "annotations": {"initialize": "6840371529"}});
    create(&endpoints, json!({"metadata": state})).await;
}

fn slice(name: &str, service: &str, manager: &str, owners: &Value) -> Value {
    let labels =
        json!({"kubernetes.io/service-name": service, "endpointslice.kubernetes.io/managed-by": manager});
    // Addresses of their own, so that none is a duplicate.
    let address = format!("10.7.0.{}", name.bytes().map(u32::from).sum::<u32>() % 250 + 1);
    json!({
        "metadata": {"name": name, "labels": labels, "ownerReferences": owners},
        "addressType": "IPv4", "endpoints": [{"addresses": [address]}], "ports": [],
    })
}

async fn create<K>(api: &Api<K>, object: Value) -> K
where
    K: Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap()
}

fn run(cluster: &Cluster, user: User, words: &[&str]) -> Output {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig(user).display());
    let args: Vec<&str> = ["audit", &kubeconfig, "--confirm-after=0"].iter().chain(words).copied().collect();
    process::output(&binaries::kubectl_endpoints(), &args, LIMIT)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The writes as `verb resource name`.
fn lines(writes: &[Request]) -> BTreeSet<String> {
    writes.iter().map(|it| format!("{} {} {}", it.verb, it.resource, it.name)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_objects_of_the_controllers_are_repaired() {
    let cluster = Cluster::embedded().await;
    break_objects(&cluster).await;
    let start = cluster.audit().mark();
    let audit = |words: &[&str]| run(&cluster, User::Admin, words);

    let found = audit(&["-n", NAMESPACE, "-o", "json"]);
    assert_eq!(found.status.code(), Some(3), "{}", text(&found.stderr));
    let document: Value = serde_json::from_slice(&found.stdout).unwrap();
    let rules: BTreeSet<&str> =
        document["findings"].as_array().unwrap().iter().filter_map(|it| it["rule"].as_str()).collect();
    for rule in ["orphaned-slice", "orphaned-mirror", "slice-owner", "headless-label", "missing-service-name"]
    {
        assert!(rules.contains(rule), "{rules:?}");
    }
    let unasked = audit(&["-n", NAMESPACE, "--fix"]);
    assert_eq!(unasked.status.code(), Some(1));
    assert!(text(&unasked.stderr).contains("give --yes"), "{}", text(&unasked.stderr));
    let shown = audit(&["-n", NAMESPACE, "--fix", "--dry-run=client"]);
    assert!(
        text(&shown.stdout).contains("delete EndpointSlice shop/ours-orphan\n"),
        "{}",
        text(&shown.stdout)
    );
    assert_eq!(lines(&cluster.audit().writes_since(start, User::Admin)), BTreeSet::new());

    let before = versions(&cluster).await;
    let checked = audit(&["-n", NAMESPACE, "--fix", "--yes", "--dry-run=server"]);
    assert_eq!(checked.status.code(), Some(3), "{}", text(&checked.stderr));
    assert_eq!(versions(&cluster).await, before, "a dry run stores nothing");

    let start = cluster.audit().mark();
    let fixed = audit(&["--fix", "--yes"]);
    let expected = [
        "delete endpoints ours",
        "delete endpointslices ours-mirror",
        "delete endpointslices ours-orphan",
        "patch endpointslices ours-hidden",
        "patch endpointslices ours-nameless",
        "patch endpointslices ours-stripped",
    ];
    let writes = cluster.audit().writes_since(start, User::Admin);
    assert_eq!(lines(&writes), expected.map(ToOwned::to_owned).into(), "{}", text(&fixed.stderr));
    assert!(
        writes.iter().all(|write| write.code < 300 && write.user_agent.ends_with("/audit")),
        "{writes:#?}"
    );
    // What users and others have is left.
    assert_eq!(fixed.status.code(), Some(3));

    let left = audit(&["-n", NAMESPACE, "--fix", "--yes"]);
    assert!(text(&left.stderr).contains("Nothing to repair"), "{}", text(&left.stderr));
    let after = versions(&cluster).await;
    for object in before.iter().filter(|(name, _)| !name.starts_with("ours")) {
        assert!(after.contains(object), "{object:?} was written");
    }
}

/// Names and versions of all slices and Endpoints of the namespace.
async fn versions(cluster: &Cluster) -> BTreeSet<(String, String)> {
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.client(), NAMESPACE);
    let endpoints: Api<Endpoints> = Api::namespaced(cluster.client(), NAMESPACE);
    let all = ListParams::default();
    let slices = slices.list(&all).await.unwrap().items.into_iter().map(|it| it.metadata);
    let endpoints = endpoints.list(&all).await.unwrap().items.into_iter().map(|it| it.metadata);
    slices.chain(endpoints).map(|it| (it.name.unwrap(), it.resource_version.unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_said_in_one_line() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    for (user, words, code, expected) in [
        (User::ThirdParty, vec![], 4, "cannot list services"),
        (User::Admin, vec!["-n", "nowhere"], 1, "no namespace nowhere"),
        (User::Admin, vec!["--context=other"], 1, "has the context other"),
    ] {
        let output = run(&cluster, user, &words);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {stderr}");
        assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{words:?}: {stderr}");
    }
    let quiet = run(&cluster, User::Admin, &["--quiet"]);
    assert_eq!(
        (quiet.status.code(), text(&quiet.stdout)),
        (Some(0), String::new()),
        "{}",
        text(&quiet.stderr)
    );
}
