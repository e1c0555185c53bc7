//! `--serve`, with a client over HTTPS.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::program::Running;

/// For an answer of the controllers, which takes a fraction of a second; only a failure reaches it.
const LIMIT: Duration = Duration::from_mins(3);

/// A running server.
pub(crate) struct Serving {
    program: Running,
    pub(crate) kubeconfig: PathBuf,
}

impl Serving {
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut program = Running::start(&[&["simulate", "--serve"], words].concat());
        let line = program.lines().next().expect("a line");
        let kubeconfig = line.strip_prefix("export KUBECONFIG=").expect("a line for the shell").into();
        Self { program, kubeconfig }
    }

    async fn client(&self) -> kube::Client {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        kube_api::connect(&config).unwrap()
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, path: &str) {
        request(&self.client().await, "DELETE", path, &Value::Null).await;
    }

    /// The flag that names it.
    pub(crate) fn flag(&self) -> String {
        format!("--kubeconfig={}", self.kubeconfig.display())
    }
}

async fn request(client: &kube::Client, method: &str, path: &str, body: &Value) -> Value {
    let request = http::Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json").body(body.to_string().into_bytes());
    client.request(request.unwrap()).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

/// The addresses in the slices of the Service `web`.
async fn addresses(client: &kube::Client) -> Vec<String> {
    let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name=web";
    let slices = request(client, "GET", path, &Value::Null).await;
    let endpoints =
        slices["items"].as_array().unwrap().iter().filter_map(|slice| slice["endpoints"].as_array());
    let ready = endpoints.flatten().filter(|endpoint| endpoint["conditions"]["ready"] == true);
    let mut addresses: Vec<String> =
        ready.map(|endpoint| endpoint["addresses"][0].as_str().unwrap().to_owned()).collect();
    addresses.sort();
    addresses
}

async fn wait_for(client: &kube::Client, expected: &[&str]) {
    let start = Instant::now();
    loop {
        let found = addresses(client).await;
        if found == expected {
            return;
        }
        assert!(start.elapsed() < LIMIT, "{found:?} instead of {expected:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn pods_come_and_go() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/samples");
    let mut serving = Serving::start(&["-f", samples]);
    let client = serving.client().await;
    let initial = ["10.244.0.5", "10.244.0.6", "10.244.0.7"];
    wait_for(&client, &initial).await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-9", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "nginx", "ports": [{"name": "http", "containerPort": 8080}]}]},
    });
    request(&client, "POST", pods, &pod).await;
    wait_for(&client, &["10.244.0.5", "10.244.0.6", "10.244.0.7", "10.244.0.8"]).await;
    let created = request(&client, "GET", &format!("{pods}/web-9"), &Value::Null).await;
    assert!(created["spec"]["nodeName"].is_string(), "{created}");
    request(&client, "DELETE", &format!("{pods}/web-0"), &Value::Null).await;
    wait_for(&client, &["10.244.0.6", "10.244.0.7", "10.244.0.8"]).await;
    let start = Instant::now();
    while request(&client, "GET", pods, &Value::Null).await.to_string().contains("web-0") {
        assert!(start.elapsed() < LIMIT, "a deleted pod terminates for ever");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let file = serving.kubeconfig.clone();
    assert_eq!(serving.program.interrupt(), Some(0));
    assert!(!file.exists());
}

fn deployment(replicas: u32) -> Value {
    let labels = json!({"app": "web"});
    let containers = json!([{"name": "main", "image": "nginx"}]);
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    })
}

async fn patch(client: &kube::Client, path: &str, patch: &Value) {
    let request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
    let request = request.body(patch.to_string().into_bytes()).unwrap();
    client.request::<Value>(request).await.unwrap_or_else(|error| panic!("{path}: {error}"));
}

#[tokio::test]
async fn deployments_have_the_pods_that_they_ask_for() {
    let mut serving = Serving::start(&[]);
    let client = serving.client().await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    request(&client, "POST", "/api/v1/namespaces/default/services", &service).await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    request(&client, "POST", deployments, &deployment(2)).await;
    wait_for(&client, &["10.244.0.1", "10.244.0.2"]).await;
    let web = format!("{deployments}/web");
    patch(&client, &web, &json!({"spec": {"replicas": 3}})).await;
    wait_for(&client, &["10.244.0.1", "10.244.0.2", "10.244.0.3"]).await;
    let start = Instant::now();
    while request(&client, "GET", &web, &Value::Null).await["status"]["availableReplicas"] != 3 {
        assert!(start.elapsed() < LIMIT, "the status of the Deployment does not follow");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    request(&client, "DELETE", "/api/v1/namespaces/default/pods/web-1", &Value::Null).await;
    wait_for(&client, &["10.244.0.2", "10.244.0.3", "10.244.0.4"]).await;
    let other = json!({"metadata": {"labels": {"app": "other"}}});
    patch(&client, "/api/v1/namespaces/default/pods/web-2", &other).await;
    wait_for(&client, &["10.244.0.3", "10.244.0.4", "10.244.0.5"]).await;
    let image = json!([{"name": "main", "image": "nginx:2"}]);
    patch(&client, &web, &json!({"spec": {"replicas": 2, "template": {"spec": {"containers": image}}}}))
        .await;
    wait_for(&client, &["10.244.0.6", "10.244.0.7"]).await;
    request(&client, "DELETE", &web, &Value::Null).await;
    wait_for(&client, &[]).await;
    assert_eq!(serving.program.interrupt(), Some(0));
}

/// The pods that were made for a Deployment of the input are its own.
#[tokio::test]
async fn deployments_of_the_input_work_on() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("deployment.json");
    std::fs::write(&file, deployment(2).to_string()).unwrap();
    let serving = Serving::start(&["-f", file.to_str().unwrap()]);
    let client = serving.client().await;
    let pods = "/api/v1/namespaces/default/pods";
    let count = async || request(&client, "GET", pods, &Value::Null).await["items"].as_array().unwrap().len();
    assert_eq!(count().await, 2);
    let web = "/apis/apps/v1/namespaces/default/deployments/web";
    patch(&client, web, &json!({"spec": {"replicas": 3}})).await;
    for expected in [3, 0] {
        let start = Instant::now();
        while count().await != expected {
            assert!(start.elapsed() < LIMIT, "not {expected} pods");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if expected == 3 {
            request(&client, "DELETE", web, &Value::Null).await;
        }
    }
}

#[tokio::test]
async fn a_kubeconfig_has_the_name_it_is_given() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("empty.yaml"), "").unwrap();
    let (empty, file) = (directory.path().join("empty.yaml"), directory.path().join("kubeconfig"));
    let words =
        ["-f", empty.to_str().unwrap(), "--write-kubeconfig", file.to_str().unwrap(), "--listen=[::1]:0"];
    let mut serving = Serving::start(&words);
    assert_eq!(serving.kubeconfig, file);
    let again = crate::program::simulate(directory.path(), &[&["--serve"], &words[..]].concat(), "");
    assert_eq!((again.code, again.stdout.as_str()), (1, ""));
    let expected = format!("Error: --write-kubeconfig: {} exists", file.display());
    assert!(again.stderr.starts_with(&expected) && again.stderr.lines().count() == 1, "{}", again.stderr);
    let namespace = request(&serving.client().await, "GET", "/api/v1/namespaces/default", &Value::Null).await;
    assert_eq!(namespace["kind"], "Namespace");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["users"][0]["user"]["token"] = "guessed".into();
    std::fs::write(&file, config.to_string()).unwrap();
    let refused = serving.client().await.apiserver_version().await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 401), "{refused}");
    assert_eq!(serving.program.interrupt(), Some(0));
    assert!(!file.exists());
}
