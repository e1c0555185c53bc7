//! `--config`: a file that changes while the program runs is applied as a whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::cluster::Cluster;
use tests::manager::{Controller, Manager};
use tests::metrics::Exposition;
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::{self, LIMIT};

/// A file with these sections.
fn write(file: &Path, sections: &str) {
    let head = "apiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\nkind: KubeControllerManagerConfiguration\n";
    // As a mounted ConfigMap changes: at once.
    let new = file.with_extension("new");
    fs::write(&new, format!("{head}{sections}")).unwrap();
    fs::rename(new, file).unwrap();
}

/// A running program, and its file.
struct Fixture {
    manager: Manager,
    file: PathBuf,
}

impl Fixture {
    /// Waits for the outcome of the last reload in the metrics, which follow the log: 1 if it succeeded, and the fields
    /// that wait for a restart.
    async fn outcome(&self, successful: f64, pending: &[&str]) {
        wait::until("the outcome of the reload in the metrics", LIMIT, async || {
            let text = self.manager.get("/metrics").await.1;
            let shown = Exposition::parse(&text)?.number("config_last_reload_successful", &[]);
            let fields =
                text.lines().filter_map(|line| line.strip_prefix("config_restart_required{field=\""));
            let fields: Vec<&str> = fields.filter_map(|rest| rest.split('"').next()).collect();
            if (shown, &*fields) == (Some(successful), pending) {
                Ok(())
            } else {
                Err(format!("{shown:?} {fields:?}"))
            }
        })
        .await;
    }

    async fn in_force(&self, pointer: &str) -> Value {
        let page: Value = serde_json::from_str(&self.manager.get("/configz").await.1).unwrap();
        page["kubecontrollermanager.config.k8s.io"].pointer(pointer).cloned().unwrap()
    }

    /// Changes the file, asks for a reload, and waits for this line of the log.
    async fn reload(&mut self, sections: &str, words: &[&str]) {
        write(&self.file, sections);
        self.manager.process().signal("HUP");
        self.manager.process().says_all(words).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_changes_is_applied_or_refused_as_a_whole() {
    let cluster = Cluster::embedded().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    // One write, and the next one after years.
    write(&file, "Generic: {ClientConnection: {qps: 0.00000001, burst: 1}}\n");
    let manager = Manager::with_file(&cluster, &file).await;
    let mut fixture = Fixture { manager, file };
    let world = World::prepare(cluster.client(), &[Controller::EndpointSlice]).await;
    let spec = |app: &str| json!({"selector": {"app": app}, "ports": [{"port": 80}]});
    world.pods([Pod::new("a-0", "a", 0), Pod::new("b-0", "b", 1)]).await;
    for name in ["a", "b"] {
        world.service(name, json!({}), spec(name)).await;
    }

    // Refused: the line and the field are named, and the old values stay.
    fixture
        .reload(
            "Generic:\n  ClientConnection:\n    burst: 30\n    qps: fast\n",
            &["Did not reload", "config.yaml:6: Generic.ClientConnection.qps: must be a number", "keeping"],
        )
        .await;
    fixture.outcome(0.0, &[]).await;
    assert_eq!(fixture.in_force("/Generic/ClientConnection/burst").await, 1);

    // A change that needs a restart: not even the other fields are applied.
    fixture
        .reload(
            "Generic: {ClientConnection: {qps: 50, burst: 50}}\nEndpointSliceController: {MaxEndpointsPerSlice: 7}\n",
            &["Did not reload", "fields=\"EndpointSliceController.MaxEndpointsPerSlice\"", "need a restart"],
        )
        .await;
    fixture.outcome(0.0, &["EndpointSliceController.MaxEndpointsPerSlice"]).await;
    assert_eq!(fixture.in_force("/Generic/ClientConnection/burst").await, 1);

    // One of the two was written at most. Applied: the request that waited for years is sent, and syncs are logged.
    let written =
        world.slices_of("a", "IPv4").await.unwrap().len() + world.slices_of("b", "IPv4").await.unwrap().len();
    assert!(written <= 1, "{written} slices with one token");
    fixture
        .reload(
            "Generic: {ClientConnection: {qps: 50, burst: 50}, Logging: {verbosity: 4}}\n",
            &["Reloaded the configuration file", "Generic.ClientConnection.qps", "Generic.Logging.verbosity"],
        )
        .await;
    world.expect("a", "IPv4", 1, 1).await;
    world.expect("b", "IPv4", 1, 1).await;
    fixture.outcome(1.0, &[]).await;
    assert_eq!(fixture.in_force("/Generic/ClientConnection/qps").await, 50);
    assert!(fixture.manager.get("/flagz").await.1.contains("\nv=4\n"));
    world.ready("a-0", false).await;
    fixture.manager.process().says_all(&["\"Synced\"", &format!("{NAMESPACE}/a")]).await;

    // Without a signal, as a ConfigMap that the kubelet renews.
    write(&fixture.file, "Generic: {ClientConnection: {qps: 50, burst: 60}}\n");
    wait::until("the next look at the file", LIMIT, async || {
        let burst = fixture.in_force("/Generic/ClientConnection/burst").await;
        if burst == 60 { Ok(()) } else { Err(burst) }
    })
    .await;
    // A look that comes between a change and its signal counts as well.
    wait::until("two reloads of each outcome", LIMIT, async || {
        let exposition = Exposition::parse(&fixture.manager.get("/metrics").await.1)?;
        let reloads = ["success", "failure"];
        let reloads = reloads.map(|status| exposition.number("config_reloads_total", &[("status", status)]));
        if reloads.iter().all(|count| *count >= Some(2.0)) { Ok(()) } else { Err(format!("{reloads:?}")) }
    })
    .await;
    assert!(fixture.manager.stop().await.success());
}
