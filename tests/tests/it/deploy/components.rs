//! `deploy/components`: each works as its header says, on a real API server where that is the judge.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tests::audit::assert_allowed;
use tests::cluster;
use tests::manager::{Controller, Manager};
use tests::pages::Pages;
use tests::scenario::World;
use tests::wait::{self, LIMIT};

use super::manifests::{file, kustomization, name, pod, text, with_components};
use super::site::{ACCOUNT, SYSTEM, Site, user};
use crate::serving::tls::{Authority, write};

fn object<'a>(objects: &'a [Value], wanted: &str) -> &'a Value {
    objects.iter().find(|object| name(object) == wanted).unwrap_or_else(|| panic!("no {wanted}"))
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

/// The program itself only reads, elects and requests tokens; the controllers write as their own accounts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_service_account_credentials_the_program_itself_writes_no_endpoints() {
    let objects = with_components("base", &["service-account-credentials"]);
    let site = Site::prepare(&objects, pod(&objects), Vec::new()).await;
    let world = World::prepare(site.cluster.client(), Controller::ALL).await;
    let mark = site.cluster.audit().mark();
    let manager = site.start(|options| options).await;
    world.sync().await;
    world.service("web", json!({}), json!({"selector": {"app": "web"}, "ports": [{"port": 80}]})).await;
    world.expect_sizes("web", "IPv4", &[0]).await;
    assert!(manager.stop().await.success());

    let requests = site.cluster.audit().since(mark);
    assert_allowed(requests.iter().filter(|request| request.program() == ACCOUNT));
    let writes = |account: &str| -> BTreeSet<&str> {
        let by = user((SYSTEM, account));
        let writes = requests.iter().filter(|request| request.user == by && request.is_write());
        writes.map(|request| request.resource.as_str()).collect()
    };
    let own = writes(ACCOUNT);
    let expected = ["events", "leases", "serviceaccounts/token", "subjectaccessreviews", "tokenreviews"];
    assert!(own.iter().all(|resource| expected.contains(resource)), "{own:?}");
    assert!(own.contains("serviceaccounts/token"), "{own:?}");
    assert!(writes("endpoint-controller").contains("endpoints"));
    assert!(writes("endpointslice-controller").contains("endpointslices"));
    assert!(writes("endpointslicemirroring-controller").contains("endpointslices"));
}

/// `OpenShift`'s admission plugin does not run here: the permissions are compared with what it asks for.
#[test]
fn openshift_gets_a_permission_for_each_controller() {
    let plain = with_components("base", &[]);
    let objects = with_components("base", &["openshift"]);
    for (controller, group, resource) in [
        ("endpoints-controller", "", "endpoints/restricted"),
        ("endpointslice-controller", "discovery.k8s.io", "endpointslices/restricted"),
        ("endpointslice-mirroring-controller", "discovery.k8s.io", "endpointslices/restricted"),
    ] {
        let role = format!("ClusterRole /{ACCOUNT}:{controller}");
        let mut expected = object(&plain, &role)["rules"].as_array().unwrap().clone();
        expected.push(json!({"apiGroups": [group], "resources": [resource], "verbs": ["create"]}));
        assert_eq!(object(&objects, &role)["rules"], json!(expected), "{role}");
    }
}

#[test]
fn the_network_policy_admits_the_port_of_the_pods() {
    let objects = with_components("base", &["network-policy"]);
    let policy = object(&objects, &format!("NetworkPolicy {SYSTEM}/{ACCOUNT}"));
    let deployment = object(&objects, &format!("Deployment {SYSTEM}/{ACCOUNT}"));
    assert_eq!(policy["spec"]["podSelector"], deployment["spec"]["selector"]);
    let port = &deployment["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"];
    assert_eq!(policy["spec"]["ingress"][0]["ports"][0]["port"], *port);
    // What the documents say: ports, at any address.
    assert!(policy["spec"]["egress"][0].get("to").is_none(), "{policy}");
}

/// A Service would be watched by its `EndpointSlices`, which the program itself writes: if it fails, its monitoring would too.
#[test]
fn monitoring_finds_the_pods_without_the_programs_own_slices() {
    let objects = kustomization("overlays/monitoring");
    let kinds: BTreeSet<&str> = objects.iter().map(|object| text(object, "/kind")).collect();
    assert!(kinds.contains("PodMonitor") && kinds.contains("PrometheusRule"), "{kinds:?}");
    assert!(!kinds.contains("ServiceMonitor") && !kinds.contains("Service"), "{kinds:?}");
}

/// With certificates, the monitor verifies them, and the program serves the files of the Secret.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn monitors_verify_the_serving_certificate() {
    let plain = kustomization("overlays/monitoring");
    let objects = with_components("overlays/monitoring", &["serving-certificate"]);
    let configs = |objects: &[Value]| -> Vec<Value> {
        let monitor = object(objects, &format!("PodMonitor {SYSTEM}/{ACCOUNT}"));
        let endpoints = monitor["spec"]["podMetricsEndpoints"].as_array().unwrap();
        endpoints.iter().map(|endpoint| endpoint["tlsConfig"].clone()).collect()
    };
    let insecure = json!({"insecureSkipVerify": true});
    assert_eq!(configs(&plain), [insecure.clone(), insecure]);
    let secret = &pod(&objects)["volumes"][0]["secret"]["secretName"];
    let verified = json!({
        "serverName": format!("{ACCOUNT}.{SYSTEM}.svc"),
        "ca": {"secret": {"name": secret, "key": "ca.crt"}},
    });
    assert_eq!(configs(&objects), [verified.clone(), verified]);

    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("serving");
    authority.issue(&format!("{ACCOUNT}.{SYSTEM}.svc")).write(folder.path(), "tls");
    write(folder.path(), "ca.crt", &authority.certificate_pem);
    let mut spec = pod(&objects);
    let mount = text(&spec, "/containers/0/volumeMounts/0/mountPath").to_owned();
    for arg in spec["containers"][0]["args"].as_array_mut().unwrap() {
        *arg = json!(arg.as_str().unwrap().replace(&mount, folder.path().to_str().unwrap()));
    }
    let site = Site::prepare(&objects, spec, Vec::new()).await;
    let manager = site.start(|options| options).await;
    let token = site.cluster.token(SYSTEM, &format!("{ACCOUNT}-metrics-reader")).await;
    let metrics = documented_curl(folder.path(), manager.port(), &token);
    assert!(metrics.contains("# TYPE workqueue_depth gauge"), "{metrics}");
    scrape(&site, &manager).await;
    assert!(manager.stop().await.success());
}

/// Runs the command of deploy/README.md that verifies the certificate, in the folder of ca.crt, and returns its output.
fn documented_curl(folder: &Path, port: u16, token: &str) -> String {
    let document = std::fs::read_to_string(super::manifests::folder().join("README.md")).unwrap();
    let command = document.lines().skip_while(|line| !line.starts_with("curl --cacert ca.crt "));
    let command = command.take_while(|line| *line != "```").collect::<Vec<_>>().join("\n");
    assert_eq!(command.matches(":10261").count(), 2, "{command}");
    let command = command.replace(":10261", &format!(":{port}"));
    // Without a proxy of this machine.
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &command]).current_dir(folder).env("TOKEN", token).env("no_proxy", "*");
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The service account of the `PodMonitor` may read metrics.
async fn scrape(site: &Site, manager: &Manager) {
    let server = format!("https://127.0.0.1:{}", manager.port());
    let reader = format!("{ACCOUNT}-metrics-reader");
    let reader = site.kubeconfig((SYSTEM, &reader), &server).await;
    let pages = Pages::by(cluster::client(&reader).await.unwrap());
    // Not /metrics, which the harness opens to all clients.
    wait::until("metrics", LIMIT, async || match pages.get("/metrics/slis").await? {
        page if page.status == 200 => Ok(()),
        page => Err(page.text),
    })
    .await;
    assert_eq!(pages.get("/configz").await.unwrap().status, 403);
    let allowed = &file("base/rbac/metrics-reader.yaml")[0]["rules"][0]["nonResourceURLs"];
    assert_eq!(strings(allowed), ["/metrics", "/metrics/slis"]);
}
