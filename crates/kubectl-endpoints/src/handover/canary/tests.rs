//! The canary on an API server in memory.

use std::ffi::OsString;

use embedded_apiserver::ApiServer;
use serde_json::Value;

use super::super::command;
use super::super::facts::Goal;
use super::*;

const MANAGER: &str = "the-writer";
/// Less than the time of silence.
const ALMOST: Duration = Duration::from_secs(14);
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

fn cluster() -> (ApiServer, Cluster) {
    over(ApiServer::new())
}

fn over(server: ApiServer) -> (ApiServer, Cluster) {
    let cluster = Cluster::in_memory(&server);
    (server, cluster)
}

fn migration(controllers: &str) -> Migration {
    let words = [OsString::from(format!("--controllers={controllers}"))];
    command::parse(Goal::Handover, &words).unwrap_or_else(|_| panic!("{controllers}"))
}

/// A slice of the canary as a controller makes it, which this object owns.
fn slice(owner: &Value) -> EndpointSlice {
    let owner =
        json!({"apiVersion": "v1", "kind": owner["kind"], "name": NAME, "uid": owner["metadata"]["uid"]});
    let metadata = json!({"generateName": "of-the-canary-", "labels": {"kubernetes.io/service-name": NAME},
        "ownerReferences": [owner]});
    let object = json!({"metadata": metadata, "addressType": "IPv4", "endpoints": []});
    serde_json::from_value(object).unwrap()
}

/// Writes a slice with a field manager.
async fn write(cluster: &Cluster, owner: &Value, manager: &str) {
    let path = format!("{SLICES}?fieldManager={manager}");
    let _: EndpointSlice = cluster.client.create_json(&path, &slice(owner)).await.unwrap();
}

/// The object of the canary's name.
fn object(server: &ApiServer, kind: &str) -> Option<Value> {
    server.objects("v1", kind).into_iter().find(|object| object["metadata"]["name"] == NAME)
}

/// The kinds of the canary's objects that exist.
fn left(server: &ApiServer) -> Vec<&'static str> {
    ["Service", "Endpoints"].into_iter().filter(|kind| object(server, kind).is_some()).collect()
}

/// Waits until this object is there and not this one, and returns it.
async fn created(server: &ApiServer, kind: &str, not: Option<&Value>) -> Value {
    loop {
        if let Some(object) = object(server, kind)
            .filter(|it| not.is_none_or(|not| not["metadata"]["uid"] != it["metadata"]["uid"]))
        {
            return object;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Every pod gives a new leader more time to fill its caches.
#[tokio::test]
async fn the_time_of_silence_grows_with_the_pods() {
    let (_server, cluster) = cluster();
    assert_eq!(silence(&cluster).await.unwrap(), QUIET);
    for number in 0..31 {
        let pod: Value = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("pod-{number}")},
            "spec": {"containers": [{"name": "a", "image": "a"}]}});
        let _: Value = cluster.client.create_json("/api/v1/namespaces/default/pods", &pod).await.unwrap();
    }
    // The first one is in the list, and not among those that remain.
    assert_eq!(silence(&cluster).await.unwrap(), Duration::from_millis(15_030));
}

#[tokio::test(start_paused = true)]
async fn silence_takes_the_whole_time_and_leaves_nothing() {
    for controllers in ["*", "endpoint", "endpointslicemirroring"] {
        let (server, cluster) = cluster();
        let start = Instant::now();
        let seen = writers(&cluster, &migration(controllers), QUIET).await.unwrap();
        assert!(seen.is_empty(), "{controllers}: {seen:?}");
        assert!(start.elapsed() > QUIET, "{controllers}: {:?}", start.elapsed());
        assert!(left(&server).is_empty(), "{controllers}: {:?}", left(&server));
    }
}

/// The EndpointSlice controller writes for a selector; the EndpointSliceMirroring controller, for Endpoints without one.
#[tokio::test(start_paused = true)]
async fn the_writer_of_a_slice_is_named() {
    for (controllers, owner, has_selector) in
        [("*", "Service", true), ("endpointslicemirroring", "Endpoints", false)]
    {
        let (server, cluster) = cluster();
        let controller = async {
            write(&cluster, &created(&server, owner, None).await, MANAGER).await;
            created(&server, "Service", None).await
        };
        let migration = migration(controllers);
        let (seen, service) = tokio::join!(writers(&cluster, &migration, QUIET), controller);
        assert_eq!(seen.unwrap(), [MANAGER], "{controllers}");
        assert_eq!(service["spec"]["selector"].is_object(), has_selector, "{controllers}: {service}");
        assert!(left(&server).is_empty(), "{controllers}: {:?}", left(&server));
    }
}

/// A canary of an earlier run, for whichever controllers it was, and its slice.
#[tokio::test(start_paused = true)]
async fn one_that_was_left_behind_is_replaced() {
    for (before, now) in [("*", "*"), ("*", "endpointslicemirroring"), ("endpointslicemirroring", "*")] {
        let (server, cluster) = cluster();
        let migration_before = migration(before);
        let place = Place {
            cluster: &cluster,
            namespace: NAMESPACE,
            controllers: &migration_before.controllers,
            is_mirrored: before != "*",
        };
        place.create_service().await.unwrap();
        place.create_endpoints().await.unwrap();
        let kind = if before == "*" { "Service" } else { "Endpoints" };
        write(&cluster, &object(&server, kind).unwrap(), MANAGER).await;
        let seen = writers(&cluster, &migration(now), QUIET).await.unwrap();
        assert!(seen.is_empty(), "{before}, {now}: {seen:?}");
        assert!(left(&server).is_empty(), "{before}, {now}: {:?}", left(&server));
    }
}

/// As the Endpoints controller does late for the Service of an earlier canary: silence without Endpoints shows nothing.
#[tokio::test(start_paused = true)]
async fn endpoints_that_are_deleted_are_made_again() {
    let (server, cluster) = cluster();
    let controllers = async {
        let first = created(&server, "Endpoints", None).await;
        sleep(ALMOST).await;
        let path = format!("/api/v1/namespaces/default/endpoints/{NAME}");
        cluster.client.delete(&path, &Preconditions::default()).await.unwrap();
        let second = created(&server, "Endpoints", Some(&first)).await;
        // The old owner's is nobody's.
        write(&cluster, &first, "earlier").await;
        sleep(ALMOST).await;
        write(&cluster, &second, MANAGER).await;
    };
    let migration = migration("endpointslicemirroring");
    let (seen, ()) = tokio::join!(writers(&cluster, &migration, QUIET), controllers);
    assert_eq!(seen.unwrap(), [MANAGER]);
}

#[tokio::test]
async fn what_others_made_stays() {
    for (kind, path) in [("Service", "services"), ("Endpoints", "endpoints")] {
        for controllers in ["*", "endpointslicemirroring"] {
            let (server, cluster) = over(ApiServer::builder().deletion_of_endpoints(true).build());
            let object = json!({"metadata": {"name": NAME}, "spec": {"ports": [{"port": 80}]}});
            let object = if kind == "Service" { object } else { json!({"metadata": object["metadata"]}) };
            let path = format!("/api/v1/namespaces/default/{path}");
            let _: Value = cluster.client.create_json(&path, &object).await.unwrap();
            let refused = writers(&cluster, &migration(controllers), QUIET).await.unwrap_err();
            let Failure::Input(text) = refused else { panic!("{kind}, {controllers}: another failure") };
            let named = format!("the {kind} default/{NAME} was not made by this command");
            assert!(text.contains(&named) && text.contains("--canary-namespace"), "{text}");
            assert_eq!(left(&server), [kind], "{controllers}");
        }
    }
}
