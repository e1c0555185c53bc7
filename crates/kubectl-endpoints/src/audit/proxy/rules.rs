//! kube-proxy's table of nftables, as `nft --json` lists it (libnftables-json(5)).
//!
//! The map `service-ips` leads from a cluster IP, protocol and port to a chain of the Service. Its rules have the endpoints as
//! targets of `dnat`, or lead to a chain for each, with `sessionAffinity: ClientIP` and in earlier releases
//! (`pkg/proxy/nftables/proxier.go`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

use endpoint_diagnostics::audit::proxy::Frontend;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

const SERVICE_IPS: &str = "service-ips";

/// Each entry is decoded by itself, because decoded ones take several times their length.
#[derive(Deserialize)]
struct Listing<'a> {
    #[serde(borrow)]
    nftables: Vec<&'a RawValue>,
}

/// The rules of kube-proxy for one family.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The chain of each cluster IP, protocol and port.
    services: BTreeMap<Frontend, String>,
    chains: HashMap<String, Chain>,
}

#[derive(Debug, Default)]
struct Chain {
    targets: BTreeSet<SocketAddr>,
    /// The chains to which its rules lead.
    next: Vec<String>,
}

impl Rules {
    /// Reads what `nft` has written. Entries and statements of other kinds are left out.
    pub(super) fn parse(json: &str) -> Result<Self, String> {
        let listing: Listing<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let (mut rules, mut has_services) = (Self::default(), false);
        for entry in listing.nftables {
            let entry: Value = serde_json::from_str(entry.get()).map_err(|error| error.to_string())?;
            if let Some(map) = entry.get("map").filter(|map| text(map.get("name")) == Some(SERVICE_IPS)) {
                has_services = true;
                rules.services.extend(elements(map.get("elem")).filter_map(service));
            }
            let Some(rule) = entry.get("rule") else { continue };
            let Some(chain) = text(rule.get("chain")) else { continue };
            let chain = rules.chains.entry(chain.to_owned()).or_default();
            for statement in rule.get("expr").and_then(Value::as_array).into_iter().flatten() {
                chain.add(statement);
            }
        }
        if has_services { Ok(rules) } else { Err(format!("there is no map {SERVICE_IPS}")) }
    }

    /// The endpoints to which connections go.
    ///
    /// Cost: linear in the rules that lead to them.
    pub(super) fn targets(&self, frontend: &Frontend) -> BTreeSet<SocketAddr> {
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut next: Vec<&str> = self.services.get(frontend).map(String::as_str).into_iter().collect();
        while let Some(name) = next.pop() {
            let Some(chain) = self.chains.get(name).filter(|_| seen.insert(name)) else { continue };
            found.extend(&chain.targets);
            next.extend(chain.next.iter().map(String::as_str));
        }
        found
    }
}

impl Chain {
    fn add(&mut self, statement: &Value) {
        if let Some(dnat) = statement.get("dnat") {
            self.targets.extend(socket(dnat.get("addr"), dnat.get("port")));
            let mapped = elements(dnat.pointer("/addr/map/data/set"));
            self.targets.extend(mapped.filter_map(|(_, target)| match concatenated(target)? {
                [address, port] => socket(Some(address), Some(port)),
                _ => None,
            }));
        }
        let verdicts = elements(statement.pointer("/vmap/data/set")).map(|(_, verdict)| verdict);
        self.next.extend(verdicts.chain([statement]).filter_map(chain).map(str::to_owned));
    }
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str)
}

/// The keys and values of a map.
fn elements(map: Option<&Value>) -> impl Iterator<Item = (&Value, &Value)> {
    map.and_then(Value::as_array).into_iter().flatten().filter_map(|element| {
        match element.as_array()?.as_slice() {
            // A key with a comment or a counter is an object.
            [key, value] => Some((key.pointer("/elem/val").unwrap_or(key), value)),
            _ => None,
        }
    })
}

/// A cluster IP, protocol and port, and the chain for it.
fn service((key, verdict): (&Value, &Value)) -> Option<(Frontend, String)> {
    let [address, protocol, port] = concatenated(key)? else { return None };
    let address = socket(Some(address), Some(port))?;
    // By its number if the node has no /etc/protocols.
    let protocol = match (protocol.as_str(), protocol.as_u64()) {
        (Some("tcp"), _) | (_, Some(6)) => "TCP",
        (Some("udp"), _) | (_, Some(17)) => "UDP",
        (Some("sctp"), _) | (_, Some(132)) => "SCTP",
        _ => return None,
    };
    Some((Frontend { address, protocol: protocol.to_owned() }, chain(verdict)?.to_owned()))
}

fn concatenated(value: &Value) -> Option<&[Value]> {
    Some(value.get("concat")?.as_array()?.as_slice())
}

fn socket(address: Option<&Value>, port: Option<&Value>) -> Option<SocketAddr> {
    let address: IpAddr = text(address)?.parse().ok()?;
    Some(SocketAddr::new(address, port?.as_u64()?.try_into().ok()?))
}

/// The chain to which a verdict leads.
fn chain(verdict: &Value) -> Option<&str> {
    let verdict = verdict.get("goto").or_else(|| verdict.get("jump"))?;
    text(verdict.get("target"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of nftables 1.0.6, from rules as kube-proxy 1.37 writes them.
    const LISTED: &str = include_str!("ip.json");

    fn targets(rules: &Rules, address: &str, protocol: &str) -> Vec<String> {
        let frontend = Frontend { address: address.parse().unwrap(), protocol: protocol.to_owned() };
        rules.targets(&frontend).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_port_has_the_targets_of_the_chains_to_which_it_leads() {
        let rules = Rules::parse(LISTED).unwrap();
        for (address, protocol, expected) in [
            ("10.96.0.1:80", "TCP", &["10.1.0.1:8080", "10.1.0.2:8080"][..]),
            ("10.96.0.10:53", "UDP", &["10.1.0.3:5353"]),
            // With affinity.
            ("10.96.0.11:80", "TCP", &["10.1.0.4:8080", "10.1.0.5:8080"]),
            // Without endpoints, of another protocol, and of nobody.
            ("10.96.0.7:80", "TCP", &[]),
            ("10.96.0.1:80", "UDP", &[]),
            ("10.96.0.99:80", "TCP", &[]),
        ] {
            assert_eq!(targets(&rules, address, protocol), expected, "{address}");
        }
    }

    #[test]
    fn families_and_protocols_are_read_by_number_too() {
        let key = |protocol: &str| {
            format!(r#"{{"elem": {{"val": {{"concat": ["fd01::1", {protocol}, 80]}}, "comment": "c"}}}}"#)
        };
        for (protocol, expected) in [("6", "TCP"), ("\"udp\"", "UDP"), ("132", "SCTP")] {
            let map = format!(
                r#"{{"map": {{"name": "service-ips", "elem": [[{}, {{"goto": {{"target": "a"}}}}]]}}}}"#,
                key(protocol)
            );
            // A chain that leads to itself.
            let rule = r#"{"rule": {"chain": "a", "expr": [{"dnat": {"addr": "fd00::3", "port": 81}}, {"jump": {"target": "a"}}]}}"#;
            let rules = Rules::parse(&format!(r#"{{"nftables": [{map}, {rule}]}}"#)).unwrap();
            assert_eq!(targets(&rules, "[fd01::1]:80", expected), ["[fd00::3]:81"], "{protocol}");
        }
    }

    #[test]
    fn what_is_no_table_of_kube_proxy_is_an_error() {
        for text in ["", "{}", "[]", r#"{"nftables": [{"table": {"name": "kube-proxy"}}]}"#] {
            assert!(Rules::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        /// A part of the listing is replaced by any other: nothing panics.
        #[test]
        fn strange_listings_are_read_or_refused(from in 0..LISTED.len(), length in 0..40_usize, other in "[\\[\\]{}\",:a-z0-9]{0,8}") {
            let to = (from + length).min(LISTED.len());
            let text = format!("{}{other}{}", &LISTED[..from], &LISTED[to..]);
            if let Ok(rules) = Rules::parse(&text) {
                rules.services.keys().for_each(|frontend| drop(rules.targets(frontend)));
            }
        }
    }
}
