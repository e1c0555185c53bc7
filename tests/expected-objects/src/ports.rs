//! Ports of Endpoints and slices as text.

use std::collections::BTreeMap;

use serde_json::Value;

const NOTHING: &[Value] = &[];

/// The value at a place of an object. Unlike that of `serde_json`, it knows no escapes, and copies no key to look for some.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => value.get(key),
    })
}

/// The text at a place of an object; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    at(value, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a place of an object; empty if there is none.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    at(value, pointer).and_then(Value::as_array).map_or(NOTHING, Vec::as_slice)
}

/// A port as a line.
pub(crate) fn port_line(port: &Value) -> String {
    let protocol = match text(port, "/protocol") {
        "" => "TCP",
        protocol => protocol,
    };
    format!("{}:{protocol}:{}:{}", text(port, "/name"), port["port"], text(port, "/appProtocol"))
}

/// True if an address has several ports of one name. The controllers, as upstream's, merge all ports of an address into one
/// slice, which the API server then refuses.
pub(crate) fn has_ambiguous_ports(endpoints: &Value) -> bool {
    let mut ports: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for subset in list(endpoints, "/subsets") {
        for address in list(subset, "/addresses").iter().chain(list(subset, "/notReadyAddresses")) {
            for port in list(subset, "/ports") {
                let of_name = (text(address, "/ip"), text(port, "/name"));
                let line = port_line(port);
                if ports.insert(of_name, line.clone()).is_some_and(|other| other != line) {
                    return true;
                }
            }
        }
    }
    false
}
