//! The program on API servers of several versions: what it reports when it leads.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use embedded_apiserver::ApiServer;
use endpoint_controller_manager::process::{Configuration, Process};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// Runs the program with these flags on an API server that calls itself `1.minor.2`, until it has written a slice. Returns
/// the messages of its events about the version.
async fn events(minor: u16, flags: &[&str]) -> Vec<String> {
    let (created, mut slices) = mpsc::unbounded_channel();
    let audit = move |event: &embedded_apiserver::AuditEvent| {
        if event.verb == "create" && event.resource == "endpointslices" {
            // Nothing is lost if the test is over.
            let _ = created.send(());
        }
    };
    let server = ApiServer::builder().audit(audit).build();
    let metadata = json!({"namespace": "default", "name": "web"});
    let spec = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
    server.load(&json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})).unwrap();
    let version =
        json!({"major": "1", "minor": format!("{minor}+"), "gitVersion": format!("v1.{minor}.2-x.1")});
    let router = Router::new()
        .route("/version", get(async move || version.to_string()))
        .fallback_service(server.clone());

    let words = ["endpoint-controller-manager", "--master=http://embedded", "--secure-port=0"];
    let configuration = Configuration::parse(words.iter().chain(flags)).unwrap();
    let (terminate, terminated) = oneshot::channel();
    let process =
        Process { metrics: oneshot::channel().0, states: oneshot::channel().0, terminate: terminated };
    let connect = Arc::new(move |_: &kube::Config| Ok(kube::Client::new(router.clone(), "default")));
    let (ended, ()) = tokio::join!(process.run(configuration, connect), async {
        slices.recv().await.unwrap();
        terminate.send(()).unwrap();
    });
    ended.unwrap();
    let events = server.objects("v1", "Event");
    assert!(events.iter().any(|event| event["reason"] == "LeaderElection"), "{events:#?}");
    let is_about_version =
        |event: &&Value| event["reason"] == "UnsupportedVersion" && event["type"] == "Warning";
    let events = events.iter().filter(is_about_version);
    events.filter_map(|event| event["message"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn versions_outside_of_the_matrix_are_reported() {
    let expected = [
        (33, "The API server is v1.33.2-x.1, older than 1.34,"),
        (
            36,
            "The API server is v1.36.2-x.1, and endpoint-controller-manager behaves as 1.37: components are never \
             newer",
        ),
        (38, "The API server is v1.38.2-x.1, newer than 1.37,"),
    ];
    for (minor, start) in expected {
        let events = events(minor, &[]).await;
        assert!(matches!(&*events, [event] if event.starts_with(start)), "{minor}: {events:?}");
    }
}

#[tokio::test]
async fn versions_of_the_matrix_are_not_reported() {
    for (minor, flags) in [(37, [].as_slice()), (36, &["--emulated-version=1.36"])] {
        assert_eq!(events(minor, flags).await, [""; 0], "{minor}");
    }
}
