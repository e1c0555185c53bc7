//! Differences that a client plants while upstream is stopped: `shadow` names each with its object and field, and sees its end when
//! upstream runs again and repairs it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::parity::Run;
use tests::scenario::{NAMESPACE, Pod, World};
use tests::shadow::Shadow;
use tests::wait::LIMIT;

const GRACE: Duration = Duration::from_secs(2);

/// The planted differences by the words with which they must be named: the Service or Endpoints, the action, the kind, and the
/// beginning of the path of a field, empty for an object that would be deleted.
const PLANTED: [[&str; 4]; 13] = [
    ["ready", "update", "EndpointSlice", "endpoints[10.1.0.1].conditions.ready"],
    ["port", "update", "EndpointSlice", "ports[http/81/TCP]"],
    ["missing", "create", "EndpointSlice", "endpoints[10.1.0.3]"],
    ["extra", "delete", "EndpointSlice", ""],
    ["labels", "update", "EndpointSlice", "metadata.labels.team"],
    ["lost", "update", "EndpointSlice", "endpoints[10.1.0.6]"],
    ["owner", "delete", "EndpointSlice", ""],
    ["owner", "create", "EndpointSlice", "endpoints[10.1.0.7]"],
    ["stale", "update", "Endpoints", "subsets[http/8080/TCP].addresses[10.9.9.9]"],
    ["without", "create", "Endpoints", "subsets[http/8080/TCP]"],
    ["leftover", "delete", "Endpoints", ""],
    ["unmirrored", "create", "EndpointSlice", "endpoints[10.8.0.1]"],
    ["mirrored", "update", "EndpointSlice", "endpoints[10.8.0.9]"],
];

/// Services with a selector and one pod each, in the order of the pods' addresses.
const SELECTING: [&str; 9] =
    ["ready", "port", "missing", "extra", "labels", "lost", "owner", "stale", "without"];
/// Services without a selector, with Endpoints of their users.
const CUSTOM: [&str; 2] = ["unmirrored", "mirrored"];

async fn prepare(world: &World) {
    let ports = json!([{"name": "http", "port": 80, "targetPort": 8080}]);
    for (number, name) in (1..).zip(SELECTING) {
        let spec = json!({"selector": {"app": name}, "ports": ports, "ipFamilyPolicy": "SingleStack"});
        world.service(name, json!({"team": "a"}), spec).await;
        world.pod(Pod::new(name, name, number)).await;
    }
    for name in CUSTOM {
        world.service(name, json!({}), json!({"ports": [{"port": 80}]})).await;
        world.endpoints(name, json!({"addresses": [{"ip": "10.8.0.1"}], "ports": [{"port": 80}]})).await;
    }
    for name in SELECTING.iter().chain(&CUSTOM) {
        world.expect(name, "IPv4", 1, 1).await;
    }
    world.settle().await;
}

async fn slice_of(slices: &Api<EndpointSlice>, service: &str) -> EndpointSlice {
    let query = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
    slices.list(&query).await.unwrap().items.remove(0)
}

/// Plants them all but the leftover.
async fn plant(client: &Client) {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
    let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), NAMESPACE);
    let change = async |service: &str, path: &str, value: Value| {
        let mut slice = serde_json::to_value(slice_of(&slices, service).await).unwrap();
        *slice.pointer_mut(path).unwrap() = value;
        let name = slice["metadata"]["name"].as_str().unwrap().to_owned();
        let slice = serde_json::from_value(slice).unwrap();
        slices.replace(&name, &PostParams::default(), &slice).await.unwrap();
    };
    change("ready", "/endpoints/0/conditions/ready", json!(false)).await;
    change("port", "/ports/0/port", json!(81)).await;
    change("labels", "/metadata/labels/team", json!("b")).await;
    change("lost", "/endpoints", json!([])).await;
    change("owner", "/metadata/ownerReferences", json!([])).await;
    change("mirrored", "/endpoints/0/addresses/0", json!("10.8.0.9")).await;
    for service in ["missing", "unmirrored"] {
        let name = slice_of(&slices, service).await.name_any();
        slices.delete(&name, &DeleteParams::default()).await.unwrap();
    }
    let mut extra = slice_of(&slices, "extra").await;
    extra.metadata.name = Some("extra-planted".to_owned());
    extra.metadata.resource_version = None;
    extra.metadata.generate_name = None;
    extra.ports.iter_mut().flatten().for_each(|port| port.port = Some(9));
    slices.create(&PostParams::default(), &extra).await.unwrap();
    endpoints.delete("without", &DeleteParams::default()).await.unwrap();
    let mut stale = serde_json::to_value(endpoints.get("stale").await.unwrap()).unwrap();
    stale["subsets"][0]["addresses"] = json!([{"ip": "10.9.9.9"}]);
    let stale = serde_json::from_value(stale).unwrap();
    endpoints.replace("stale", &PostParams::default(), &stale).await.unwrap();
}

/// The times at which each was named in the log, after `planted`.
async fn named(shadow: &Shadow, planted: Instant) -> BTreeMap<usize, Duration> {
    let mut named = BTreeMap::new();
    while named.len() < PLANTED.len() {
        let log = shadow.log();
        let lines = log.lines().filter(|line| line.contains("A difference outlasts the grace period"));
        let lines: Vec<&str> = lines.collect();
        for (number, [service, action, kind, field]) in PLANTED.into_iter().enumerate() {
            let words = [
                format!("service=\"{NAMESPACE}/{service}\""),
                format!("kind=\"{action}\""),
                format!("object=\"{kind}/"),
                field.to_owned(),
            ];
            if lines.iter().any(|line| words.iter().all(|word| line.contains(word))) {
                named.entry(number).or_insert_with(|| planted.elapsed());
            }
        }
        assert!(planted.elapsed() < LIMIT, "only {named:?} are named:\n{}", lines.join("\n"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    named
}

fn is_reported(report: &Value, [service, action, kind, field]: [&str; 4]) -> bool {
    let entries = report["lasting"].as_array().into_iter().flatten();
    let mut same = entries
        .filter(|entry| entry["service"] == service && entry["action"] == action && entry["kind"] == kind);
    same.any(|entry| {
        let mut fields = entry["fields"].as_array().into_iter().flatten();
        let starts = |found: &Value| found["path"].as_str().is_some_and(|path| path.starts_with(field));
        entry["until"].is_string() && (field.is_empty() || fields.any(starts))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_planted_difference_is_named_with_its_object_and_field() {
    let run = Box::pin(Run::start_as(Kind::Upstream, ManagerOptions::of(Controller::ALL))).await;
    prepare(&run.world).await;
    let Run { cluster, manager, .. } = run;
    manager.stop().await;
    let leftover = json!({"metadata": {"name": "leftover"}, "subsets": []});
    let endpoints: Api<Endpoints> = Api::namespaced(cluster.client(), NAMESPACE);
    let leftover = serde_json::from_value(leftover).unwrap();
    endpoints.create(&PostParams::default(), &leftover).await.unwrap();

    let shadow = Shadow::start(&cluster, &[format!("--grace={}ms", GRACE.as_millis())]).await;
    let start = Instant::now();
    plant(&cluster.client()).await;
    let named = named(&shadow, start).await;
    for (number, after) in &named {
        let [service, action, kind, _] = PLANTED[*number];
        let late = after.as_secs_f64() - GRACE.as_secs_f64();
        println!("{action} {kind} of {service}: named {late:.1} s after the grace");
    }

    // Without a barrier, whose objects would differ as well while upstream is late.
    let manager = Manager::start(Kind::Upstream, &cluster, &ManagerOptions::of(Controller::ALL)).await;
    shadow.until_zero("shadow_differences", LIMIT).await;
    let end = shadow.end(&cluster).await;
    for planted in PLANTED {
        assert!(is_reported(&end.report, planted), "{planted:?}: {:#}", end.report);
    }
    assert_eq!((end.code, end.sum("lasting")), (3, f64::from(13_u8)), "{:#}", end.report);
    assert!(end.writes().is_empty() && !end.requests.is_empty(), "{:#?}", end.writes());
    drop(manager);
}
