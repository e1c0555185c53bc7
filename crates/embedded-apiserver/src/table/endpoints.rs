//! Rows of Endpoints and EndpointSlices. Both show three items and count the rest.

use serde_json::Value;

use super::object::{Age, NONE, name};
use crate::kinds::tree::{int, list, text};

const SHOWN: usize = 3;

pub(super) fn endpoints_cells(endpoints: &Value, age: Age) -> Vec<Value> {
    let subsets = list(endpoints, "subsets");
    let shown = if subsets.is_empty() { NONE.to_owned() } else { addresses(subsets) };
    vec![name(endpoints), shown.into(), age.of_object(endpoints)]
}

/// Each address of each port; addresses alone in a subset without ports. Addresses that are not ready do not count.
fn addresses(subsets: &[Value]) -> String {
    let of_subset = |subset| {
        let ports = list(subset, "ports");
        let addresses = list(subset, "addresses");
        let without_ports =
            addresses.iter().filter(|_| ports.is_empty()).map(|address| text(address, "ip").to_owned());
        let with_ports = ports.iter().flat_map(move |port| {
            addresses.iter().map(move |address| host_and_port(text(address, "ip"), int(port, "port")))
        });
        without_ports.chain(with_ports)
    };
    shorten(subsets.iter().flat_map(of_subset))
}

fn host_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

pub(super) fn slice_cells(slice: &Value, age: Age) -> Vec<Value> {
    const UNSET: &str = "<unset>";
    let or_unset = |text: String| if text.is_empty() { UNSET.to_owned() } else { text };
    let ports = list(slice, "ports").iter().map(|port| match port.get("port").and_then(Value::as_i64) {
        Some(number) => number.to_string(),
        // All ports.
        None => port.get("name").and_then(Value::as_str).unwrap_or("*").to_owned(),
    });
    let endpoints = list(slice, "endpoints").iter().flat_map(|endpoint| list(endpoint, "addresses"));
    let addresses = endpoints.filter_map(Value::as_str).map(str::to_owned);
    vec![
        name(slice),
        text(slice, "addressType").into(),
        or_unset(shorten(ports)).into(),
        or_unset(shorten(addresses)).into(),
        age.of_object(slice),
    ]
}

/// `a,b,c + 2 more...`
fn shorten(mut items: impl Iterator<Item = String>) -> String {
    let shown: Vec<_> = items.by_ref().take(SHOWN).collect();
    match (shown.join(","), items.count()) {
        (shown, 0) => shown,
        (shown, more) => format!("{shown} + {more} more..."),
    }
}
