//! Custom Endpoints: the content that a user or another project's controller writes for a Service without a selector.

use serde_json::{Map, Value, json};

use crate::YEAR;
use crate::operation::Operation;
use crate::rng::Rng;
use crate::services;

/// A name that no Service ever has.
const WITHOUT_SERVICE: &str = "no-service";

/// Addresses that no pod has. The set is small, so that they recur in other subsets.
const ADDRESSES: [&str; 9] = [
    "10.9.0.1",
    "10.9.0.2",
    "10.9.0.3",
    "10.9.0.4",
    "10.9.0.5",
    "10.9.0.6",
    "fd00:9::1",
    "fd00:9::2",
    "fd00:9::a",
];

/// Creates or replaces custom Endpoints.
pub(crate) fn set(rng: &mut Rng) -> Operation {
    let name = any_name(rng);
    let metadata = json!({"name": name, "labels": labels(rng), "annotations": annotations(rng)});
    let mut subsets: Vec<Value> = (0..rng.below(4)).map(|_| subset(rng)).collect();
    // Upstream treats equal ports of several subsets as different if they have an application protocol. Beyond the
    // maximum, its result is then chance.
    for ports in subsets.iter_mut().skip(1).filter_map(|subset| subset["ports"].as_array_mut()) {
        ports.iter_mut().filter_map(Value::as_object_mut).for_each(|port| drop(port.remove("appProtocol")));
    }
    Operation::SetEndpoints { name, object: json!({"metadata": metadata, "subsets": subsets}) }
}

/// Deletes custom Endpoints.
pub(crate) fn delete(rng: &mut Rng) -> Operation {
    Operation::DeleteEndpoints { name: any_name(rng) }
}

fn any_name(rng: &mut Rng) -> String {
    if rng.percent(5) { WITHOUT_SERVICE.to_owned() } else { (*rng.pick(&services::NAMES)).to_owned() }
}

/// Ready and unready addresses; an address is in one of the lists only, but may be in other subsets as well.
fn subset(rng: &mut Rng) -> Value {
    let (unready, ready): (Vec<_>, Vec<_>) =
        rng.some(&ADDRESSES, 8).into_iter().partition(|_| rng.percent(25));
    let mut list = |addresses: Vec<&str>| -> Value { addresses.iter().map(|ip| address(rng, ip)).collect() };
    let (ready, unready) = (list(ready), list(unready));
    json!({"addresses": ready, "notReadyAddresses": unready, "ports": ports(rng)})
}

fn address(rng: &mut Rng, ip: &str) -> Value {
    let mut address = json!({"ip": ip});
    // An address has the same properties in every subset: traces do not test which of several would win.
    if ip.ends_with('2') {
        address["hostname"] = json!("second");
    }
    if ip.ends_with('3') {
        address["nodeName"] = json!("a");
    }
    if ip.ends_with('4') && rng.percent(50) {
        address["targetRef"] = json!({"kind": "Pod", "namespace": crate::NAMESPACE, "name": "someone"});
    }
    address
}

fn ports(rng: &mut Rng) -> Value {
    let choices = [
        json!({"name": "http", "port": 80}),
        json!({"name": "https", "port": 443, "appProtocol": "https"}),
        json!({"name": "dns", "port": 53, "protocol": "UDP"}),
        json!({"name": "mesh", "port": 15001, "appProtocol": "kubernetes.io/h2c"}),
    ];
    match rng.below(10) {
        0 => json!([]),
        1..4 => json!([{"port": 8080}]),
        _ => Value::Array(rng.some(&choices, 3)),
    }
}

fn labels(rng: &mut Rng) -> Value {
    let choices = [
        ("team", "red"),
        ("team", "blue"),
        ("empty", ""),
        ("service.kubernetes.io/headless", ""),
        ("endpointslice.kubernetes.io/skip-mirror", "false"),
        ("endpointslice.kubernetes.io/skip-mirror", "true"),
    ];
    some_of(rng, &choices)
}

fn annotations(rng: &mut Rng) -> Value {
    let time = format!("{YEAR}-06-01T00:00:{:02}Z", rng.below(60));
    let choices = [
        ("note", "one"),
        ("note", "two"),
        ("example.com/note", "three"),
        ("kubectl.kubernetes.io/last-applied-configuration", "{}"),
        ("endpoints.kubernetes.io/last-change-trigger-time", &time),
        ("control-plane.alpha.kubernetes.io/leader", "{}"),
    ];
    some_of(rng, &choices)
}

/// None in half of the cases.
fn some_of(rng: &mut Rng, choices: &[(&str, &str)]) -> Value {
    if rng.percent(50) {
        return json!({});
    }
    let some = rng.some(choices, 3).into_iter();
    Value::Object(some.map(|(key, value)| (key.to_owned(), json!(value))).collect::<Map<_, _>>())
}
