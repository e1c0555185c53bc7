//! `audit --fix`: the audit log of the API server shows that only objects of the controllers were written.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::audit::Request;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::requests;
use tests::tool::{self, Ended};

const NAMESPACE: &str = "shop";
const SLICES: &str = "endpointslice-controller.k8s.io";
const MIRROR: &str = "endpointslicemirroring-controller.k8s.io";
const OTHER: &str = "mesh.example";

/// Plants defects in a cluster without controllers: each in objects of ours, of another manager, and of users.
async fn break_objects(cluster: &Cluster) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    requests::create(&cluster.client(), &namespace).await.unwrap();
    let spec = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
    let web = create(cluster, "v1", "Service", json!({"metadata": {"name": "web"}, "spec": spec})).await;
    let owner =
        json!([{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": web["metadata"]["uid"]}]);
    let create_slice =
        async |slice| drop(create(cluster, "discovery.k8s.io/v1", "EndpointSlice", slice).await);
    for (manager, prefix) in [(SLICES, "ours"), (OTHER, "other")] {
        create_slice(slice(&format!("{prefix}-orphan"), "vanished", manager, &json!([]))).await;
        create_slice(slice(&format!("{prefix}-stripped"), "web", manager, &json!([]))).await;
        let mut hidden = slice(&format!("{prefix}-hidden"), "web", manager, &owner);
        hidden["metadata"]["labels"]["service.kubernetes.io/headless"] = "".into();
        create_slice(hidden).await;
        let mut nameless = slice(&format!("{prefix}-nameless"), "", manager, &owner);
        nameless["metadata"]["labels"].as_object_mut().unwrap().remove("kubernetes.io/service-name");
        create_slice(nameless).await;
    }
    create_slice(slice("ours-mirror", "vanished", MIRROR, &json!([]))).await;
    let managed = json!({"endpoints.kubernetes.io/managed-by": "endpoint-controller"});
    for metadata in [
        json!({"name": "ours", "labels": managed}),
        json!({"name": "users"}),
        json!({"name": "patroni", "labels": managed, "annotations": {"initialize": "6840371529"}}),
    ] {
        create(cluster, "v1", "Endpoints", json!({"metadata": metadata})).await;
    }
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

/// Creates an object of the namespace.
async fn create(cluster: &Cluster, version: &str, kind: &str, mut object: Value) -> Value {
    (object["apiVersion"], object["kind"]) = (version.into(), kind.into());
    object["metadata"]["namespace"] = NAMESPACE.into();
    requests::create(&cluster.client(), &object).await.unwrap()
}

fn run(cluster: &Cluster, user: User, words: &[&str]) -> Ended {
    tool::about(&cluster.kubeconfig(user), &[&["audit", "--confirm-after=0"], words].concat())
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
    assert_eq!(found.code, Some(3), "{}", found.stderr);
    let document = found.json();
    let rules: BTreeSet<&str> =
        document["findings"].as_array().unwrap().iter().filter_map(|it| it["rule"].as_str()).collect();
    for rule in ["orphaned-slice", "orphaned-mirror", "slice-owner", "headless-label", "missing-service-name"]
    {
        assert!(rules.contains(rule), "{rules:?}");
    }
    let unasked = audit(&["-n", NAMESPACE, "--fix"]);
    assert!(unasked.code == Some(1) && unasked.stderr.contains("give --yes"), "{unasked:?}");
    let shown = audit(&["-n", NAMESPACE, "--fix", "--dry-run=client"]);
    assert!(shown.stdout.contains("delete EndpointSlice shop/ours-orphan\n"), "{shown:?}");
    assert_eq!(lines(&cluster.audit().writes_since(start, User::Admin)), BTreeSet::new());

    let before = versions(&cluster).await;
    let checked = audit(&["-n", NAMESPACE, "--fix", "--yes", "--dry-run=server"]);
    assert_eq!(checked.code, Some(3), "{}", checked.stderr);
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
    assert_eq!(lines(&writes), expected.map(ToOwned::to_owned).into(), "{}", fixed.stderr);
    assert!(
        writes.iter().all(|write| write.code < 300 && write.user_agent.ends_with("/audit")),
        "{writes:#?}"
    );
    // What users and others have is left.
    assert_eq!(fixed.code, Some(3));

    let left = audit(&["-n", NAMESPACE, "--fix", "--yes"]);
    assert!(left.stderr.contains("Nothing to repair"), "{left:?}");
    let after = versions(&cluster).await;
    for object in before.iter().filter(|(name, _)| !name.starts_with("ours")) {
        assert!(after.contains(object), "{object:?} was written");
    }
}

/// Names and versions of all slices and Endpoints of the namespace.
async fn versions(cluster: &Cluster) -> BTreeSet<(String, String)> {
    let mut versions = BTreeSet::new();
    for (version, resource) in [("api/v1", "endpoints"), ("apis/discovery.k8s.io/v1", "endpointslices")] {
        let path = format!("/{version}/namespaces/{NAMESPACE}/{resource}");
        let text = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap().to_owned();
        let objects = requests::list(&cluster.client(), &path).await;
        versions.extend(objects.iter().map(|object| (text(object, "name"), text(object, "resourceVersion"))));
    }
    versions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_said_in_one_line() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    for (user, words, code, expected) in [
        (User::ThirdParty, vec![], 4, "cannot list services"),
        (User::Admin, vec!["-n", "nowhere"], 1, "no namespace nowhere"),
        (User::Admin, vec!["--context=other"], 1, "has the context other"),
    ] {
        let Ended { code: ended, stderr, .. } = run(&cluster, user, &words);
        assert_eq!(ended, Some(code), "{words:?}: {stderr}");
        assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{words:?}: {stderr}");
    }
    let quiet = run(&cluster, User::Admin, &["--quiet"]);
    assert!(quiet.code == Some(0) && quiet.stdout.is_empty(), "{quiet:?}");
}
