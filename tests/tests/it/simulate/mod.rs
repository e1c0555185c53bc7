//! `simulate` on dumps of a real cluster that upstream's controllers settled, and on the manifests that it shows first.
//!
//! After random histories its `--diff` is checked by [`random_parity`](crate::random_parity).

mod samples;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::manager::Kind;
use tests::parity::Run;
use tests::scenario::Pod;
use tests::simulate::{Change, changes, dump, of_service, remove};
use tests::workload::PHASES;

/// A Service each for the differences, and one without.
const SERVICES: [&str; 10] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"];

fn texts(changes: &[Change]) -> String {
    changes.iter().fold(String::new(), |text, change| text + &change.to_string() + "\n")
}

/// The whole workload of the parity tests, settled by upstream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settled_cluster_has_no_differences() {
    let run = Run::start(Kind::Upstream).await;
    run.record(PHASES).await;
    run.world.settle().await;
    let found = changes(&dump(run.world.client()).await, &[]);
    // Upstream writes some Endpoints at every sync; ours does not.
    assert_eq!(texts(&found), "");
}

/// Ten Services with two pods each, and one with custom Endpoints, settled by upstream.
async fn ten_services() -> Value {
    let run = Run::start(Kind::Upstream).await;
    let world = &run.world;
    for (number, service) in (0..).zip(SERVICES) {
        let ports = json!([{"name": "http", "port": 80, "targetPort": 8080}]);
        world
            .service(service, json!({"app": service}), json!({"selector": {"app": service}, "ports": ports}))
            .await;
        world.pod(Pod::new(&format!("{service}-a"), service, 2 * number)).await;
        world.pod(Pod::new(&format!("{service}-b"), service, 2 * number + 1)).await;
    }
    for service in SERVICES {
        world.expect(service, "IPv4", 2, 2).await;
    }
    world.settle().await;
    dump(world.client()).await
}

/// The first object of a kind that belongs to a Service.
fn first<'a>(dump: &'a mut Value, kind: &str, service: &str) -> &'a mut Value {
    of_service(dump, kind, service).into_iter().next().unwrap_or_else(|| panic!("no {kind} of {service}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_planted_differences_are_found() {
    let settled = ten_services().await;
    assert_eq!(texts(&changes(&settled, &[])), "");

    let mut planted = settled.clone();
    let dump = &mut planted;
    first(dump, "EndpointSlice", "s0")["endpoints"][0]["conditions"]["ready"] = false.into();
    first(dump, "EndpointSlice", "s1")["endpoints"].as_array_mut().unwrap().pop();
    first(dump, "EndpointSlice", "s2")["ports"][0]["port"] = 9.into();
    first(dump, "EndpointSlice", "s3")["metadata"]["labels"]["app"] = "other".into();
    remove(dump, "EndpointSlice", "s4");
    let addresses = first(dump, "Endpoints", "s5")["subsets"][0]["addresses"].take();
    first(dump, "Endpoints", "s5")["subsets"][0] =
        json!({"notReadyAddresses": addresses, "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]});
    first(dump, "Endpoints", "s6")["subsets"][0]["addresses"].as_array_mut().unwrap().pop();
    first(dump, "Endpoints", "s7")["metadata"]["labels"] = json!({});
    remove(dump, "Endpoints", "s8");
    // An address that no pod has.
    let extra = json!({"addresses": ["10.9.9.9"], "conditions": {"ready": true, "serving": true, "terminating": false}});
    first(dump, "EndpointSlice", "s9")["endpoints"].as_array_mut().unwrap().push(extra);

    let found = changes(&planted, &[]);
    let summary = |change: &Change| {
        // The names of slices are random, except for what a new one begins with.
        let (action, rest) = change.summary.split_once(' ').unwrap();
        let kind = rest.split(' ').next().unwrap();
        format!("{action} {kind} {}", change.service)
    };
    let expected = [
        "update EndpointSlice s0",
        "update EndpointSlice s1",
        "update EndpointSlice s2",
        "update EndpointSlice s3",
        "create EndpointSlice s4",
        "update Endpoints s5",
        "update Endpoints s6",
        "update Endpoints s7",
        "create Endpoints s8",
        "update EndpointSlice s9",
    ];
    let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
    assert_eq!(found.iter().map(summary).collect::<BTreeSet<_>>(), expected, "{}", texts(&found));
    assert_eq!(found.len(), 10, "{}", texts(&found));
    let paths = |service: &str| -> Vec<String> {
        let change = found.iter().find(|change| change.service == service).unwrap();
        let paths =
            change.fields.as_array().unwrap().iter().map(|field| field["path"].as_str().unwrap().to_owned());
        // Stamped by the write.
        paths.filter(|path| !path.contains("last-change-trigger-time")).collect()
    };
    let address = |number: u16| settled_address(&settled, number);
    assert_eq!(paths("s0"), [format!("endpoints[{}].conditions.ready", address(0))]);
    assert_eq!(paths("s3"), ["metadata.labels.app"]);
    assert_eq!(paths("s9"), ["endpoints[10.9.9.9]"]);
}

/// The first address in the slice of a Service.
fn settled_address(dump: &Value, service: u16) -> String {
    let slice = first(&mut dump.clone(), "EndpointSlice", SERVICES[usize::from(service)]).clone();
    slice["endpoints"][0]["addresses"][0].as_str().unwrap().to_owned()
}
