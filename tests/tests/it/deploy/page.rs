//! `deploy/components/page`: the page for the users of a cluster, with exactly its permissions.

use serde_json::{Value, json};
use tests::audit::assert_allowed;
use tests::cluster::{self, Cluster};
use tests::manager::Controller;
use tests::pages::Pages;
use tests::process::Process;
use tests::requests::{account, binding, create};
use tests::scenario::World;
use tests::wait::{self, LIMIT};
use tests::{binaries, ports};

use super::manifests::{authorized, file, pod, text};
use super::site::{ACCOUNT, SYSTEM, Site, user};

const PAGE: &str = "endpoint-controller-manager-page";
const ROWS: &str = "/endpoints/api/services";

/// Two service accounts in the namespace `default`, of which the first may see the page.
async fn users(cluster: &Cluster) {
    let client = cluster.client();
    for name in ["viewer", "stranger"] {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}});
        create(&client, &account).await.unwrap();
    }
    let role = "endpoint-controller-manager:page-viewer";
    let binding = binding("page-viewers", None, role, &account("default", "viewer"));
    create(&client, &binding).await.unwrap();
    authorized(&client).await;
}

/// It answers no probe before the first reports on all Services, which a liveness probe alone would never let end.
#[test]
fn a_start_may_take_ten_minutes() {
    let spec = pod(&file("components/page/page.yaml"));
    let [startup, liveness] =
        ["startupProbe", "livenessProbe"].map(|probe| spec["containers"][0][probe].clone());
    let number = |field: &str| startup[field].as_u64().unwrap();
    assert!(number("periodSeconds") * number("failureThreshold") >= 600, "{startup}");
    assert_eq!(startup["httpGet"], liveness["httpGet"]);
}

/// Users with the role `page-viewer` see all Services and who leads; other users are refused, and the page's account is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_with_its_role_see_the_page() {
    let objects = file("components/page/page.yaml");
    let spec = pod(&objects);
    let site = Site::prepare(&objects, spec.clone(), Vec::new()).await;
    users(&site.cluster).await;
    let world = World::prepare(site.cluster.client(), Controller::ALL).await;
    world.service("web", json!({}), json!({"selector": {"app": "web"}, "ports": [{"port": 80}]})).await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": ACCOUNT, "namespace": SYSTEM},
        "spec": {"holderIdentity": "node-1_7"}});
    create(&site.cluster.client(), &lease).await.unwrap();

    let mark = site.cluster.audit().mark();
    let kubeconfig = site.kubeconfig((SYSTEM, text(&spec, "/serviceAccountName")), &site.server()).await;
    let [port] = ports::free();
    let own = [format!("--kubeconfig={}", kubeconfig.display()), format!("--listen=127.0.0.1:{port}")];
    let args =
        spec["containers"][0]["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned());
    let program = binaries::kubectl_endpoints();
    let mut page = Process::start("page", &program, site.cluster.folder(), args.chain(own));
    page.says(&format!("https://127.0.0.1:{port}/endpoints/")).await;

    let server = format!("https://127.0.0.1:{port}");
    let by = async |account| {
        let kubeconfig = site.kubeconfig(("default", account), &server).await;
        Pages::by(cluster::client(&kubeconfig).await.unwrap())
    };
    let viewer = by("viewer").await;
    let leader = wait::until("the leader on the page", LIMIT, async || {
        let page = viewer.get(ROWS).await?;
        let list: Value =
            serde_json::from_str(&page.text).map_err(|error| format!("{error}: {}", page.text))?;
        let leader = list.pointer("/overview/leaders/0/holder").cloned();
        leader.map(|leader| (leader, list["services"].clone())).ok_or(page.text)
    });
    let (leader, services) = leader.await;
    assert_eq!(leader, "node-1_7");
    let services: Vec<&str> = services.as_array().unwrap().iter().map(|row| text(row, "/name")).collect();
    assert!(services.contains(&"web") && services.contains(&"kubernetes"), "{services:?}");
    assert_eq!(viewer.get(&format!("{ROWS}/default/kubernetes/view")).await.unwrap().status, 200);
    for pages in [by("stranger").await, Pages::anonymous(port)] {
        let refused = pages.get(ROWS).await.unwrap();
        assert!(matches!(refused.status, 401 | 403), "{}: {}", refused.status, refused.text);
        assert!(!refused.text.contains("web"), "{}", refused.text);
        assert_eq!(pages.get("/endpoints/").await.unwrap().status, 200, "the page without data is public");
    }
    page.alive().unwrap();
    assert_allowed(&site.requests(&user((SYSTEM, PAGE)), mark));
}
