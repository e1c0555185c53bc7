//! Answers of a DNS server, at several looks.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::audit::dns::headless_services;
use endpoint_diagnostics::audit::{Expected, Wrong};
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME};
use serde_json::json;

use super::{add_slice, healthy, snapshot};

fn addresses(all: &[&str]) -> BTreeSet<IpAddr> {
    all.iter().map(|address| address.parse().unwrap()).collect()
}

#[test]
fn a_headless_service_has_the_ready_addresses_of_all_its_slices() {
    let mut cluster = healthy();
    for name in ["peers", "nobody"] {
        cluster.change("services", name, &json!({"spec": {"clusterIP": "None", "type": "ClusterIP"}}));
    }
    let first = json!([
        {"addresses": ["10.1.0.1"], "conditions": {"ready": true}},
        {"addresses": ["10.1.0.2"], "conditions": {}},
        {"addresses": ["10.1.0.3"], "conditions": {"ready": false, "serving": true}},
    ]);
    let labels = json!({SERVICE_NAME: "peers"});
    add_slice(&mut cluster, "peers-a", &json!({"metadata": {"labels": labels}, "endpoints": first}));
    let labels = json!({SERVICE_NAME: "peers", MANAGED_BY: "controller.example"});
    let second = json!([{"addresses": ["fd00::1"], "conditions": {"ready": true, "serving": true}}]);
    let second = json!({"metadata": {"labels": labels}, "addressType": "IPv6", "endpoints": second});
    add_slice(&mut cluster, "peers-b", &second);
    let found = headless_services(&snapshot(&cluster, &[]));
    let of =
        |name: &str| found.iter().find(|(key, _)| &*key.name == name).map(|(_, addresses)| addresses.clone());
    assert_eq!(of("peers"), Some(addresses(&["10.1.0.1", "10.1.0.2", "fd00::1"])));
    assert_eq!(of("nobody"), Some(addresses(&[])));
    assert_eq!(of("web"), None, "it has a cluster IP");
}

#[test]
fn only_what_is_wrong_at_every_look_is_found() {
    let exactly = |expected: &[&str]| Expected::exactly(addresses(expected));
    let wrong = |answered: &[&str], expected: &[&str]| Wrong::new(&addresses(answered), &exactly(expected));
    assert_eq!(wrong(&["10.0.0.1"], &["10.0.0.1"]), None);
    let first = wrong(&["10.0.0.1", "10.0.0.2"], &["10.0.0.2", "10.0.0.3"]).unwrap();
    let and =
        |answered: &[&str], expected: &[&str]| first.clone().and(&addresses(answered), &exactly(expected));
    // The server was late.
    assert_eq!(and(&["10.0.0.2", "10.0.0.3"], &["10.0.0.2", "10.0.0.3"]), None);
    // Other addresses were late each time.
    assert_eq!(and(&["10.0.0.2", "10.0.0.3"], &["10.0.0.3", "10.0.0.4"]), None);
    let second = and(&["10.0.0.1", "10.0.0.2", "10.0.0.3"], &["10.0.0.2", "10.0.0.3"]).unwrap();
    let finding = second.finding(&ObjectKey::new("shop", "peers"), "10.0.0.10:53", Duration::from_secs(40));
    assert_eq!(
        finding.message,
        "For 40 s, DNS server 10.0.0.10:53 has answered 10.0.0.1, which no slice has as ready"
    );
    let frozen = wrong(&["10.0.0.1"], &["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"]).unwrap();
    let finding = frozen.finding(&ObjectKey::new("shop", "peers"), "10.0.0.10:53", Duration::from_secs(40));
    assert_eq!(
        finding.message,
        "For 40 s, DNS server 10.0.0.10:53 has answered 10.0.0.1, which no slice has as ready, and has not answered 10.0.0.2, \
         10.0.0.3, 10.0.0.4 and 1 more, which slices have as ready"
    );
}
