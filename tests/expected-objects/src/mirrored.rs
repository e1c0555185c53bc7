//! The lines of slices that are mirrored from Endpoints.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::ports::{list, port_line, text};

/// The slices of Endpoints; an address of one target that is unready in one subset is unready for the same port in all
/// (`pkg/api/v1/endpoints/util.go` `addressKey`).
pub(crate) fn mirrored_lines(endpoints: &Value) -> BTreeSet<String> {
    let mut readiness: BTreeMap<(String, String, &str), bool> = BTreeMap::new();
    for subset in list(endpoints, "/subsets") {
        let mut ports: Vec<String> = list(subset, "/ports").iter().map(port_line).collect();
        if ports.is_empty() {
            ports.push("-".to_owned());
        }
        for (ready, field) in [(true, "/addresses"), (false, "/notReadyAddresses")] {
            for address in list(subset, field) {
                for port in &ports {
                    let ip = text(address, "/ip");
                    let family = if ip.contains(':') { "IPv6" } else { "IPv4" };
                    // The target of the first of several is kept.
                    let (host, node) = (text(address, "/hostname"), text(address, "/nodeName"));
                    let of = format!("host={host} node={node} {port}");
                    let key = (format!("{family} {:?}", [ip]), of, text(address, "/targetRef/uid"));
                    let known = readiness.entry(key).or_insert(ready);
                    *known &= ready;
                }
            }
        }
    }
    readiness.into_iter().map(|((ip, of, _), ready)| format!("{ip} {ready} {of}")).collect()
}
