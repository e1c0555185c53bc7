//! Annotations of Multus, as they are and malformed.

use super::*;

const STATUS: &str = r#"[
    {"name": "cbr0", "interface": "eth0", "ips": ["10.1.0.7", "fd00:1::7"], "default": true, "dns": {}},
    {"name": "shop/storage", "interface": "net1", "ips": ["192.168.7.7", "fd00:7::7"], "mac": "0a:58:c0:a8:07:07"},
    {"name": "ops/storage", "interface": "net2", "ips": ["192.168.8.7"]},
    {"name": "shop/idle", "interface": "net3"},
    {"name": "shop/none", "interface": "net4", "ips": null},
    {"name": "flat", "interface": "net5", "ips": ["192.168.9.7"]}
]"#;

fn read(status: &str, network: &str) -> Result<Vec<String>, Missing> {
    let addresses = addresses(status, "shop", network)?;
    Ok(addresses.iter().map(ToString::to_string).collect())
}

#[test]
fn a_network_is_found_by_name_in_any_namespace() {
    for (network, addresses) in [
        ("storage", &["192.168.7.7", "fd00:7::7"][..]),
        ("shop/storage", &["192.168.7.7", "fd00:7::7"]),
        ("ops/storage", &["192.168.8.7"]),
        ("cbr0", &["10.1.0.7", "fd00:1::7"]),
        ("flat", &["192.168.9.7"]),
        ("shop/flat", &["192.168.9.7"]),
    ] {
        assert_eq!(read(STATUS, network).unwrap(), addresses, "{network}");
    }
}

#[test]
fn a_pod_without_an_address_says_why() {
    for (status, network, missing) in [
        (STATUS, "idle", Missing::NoAddress("idle".to_owned())),
        (STATUS, "none", Missing::NoAddress("none".to_owned())),
        (STATUS, "shop/cbr0", Missing::NotAttached),
        (STATUS, "other", Missing::NotAttached),
        (STATUS, "ops/cbr0", Missing::NotAttached),
        ("[]", "storage", Missing::NotAttached),
    ] {
        assert_eq!(read(status, network), Err(missing), "{network}");
    }
}

#[test]
fn a_malformed_annotation_is_described() {
    for (status, reason) in [
        ("", "EOF while parsing a value"),
        ("net1", "expected ident"),
        ("{}", "invalid type: map, expected a sequence"),
        (r#"[{"ips": ["192.168.7.7"]}]"#, "missing field `name`"),
        (r#"[{"name": "storage", "ips": "192.168.7.7"}]"#, "invalid type: string"),
        (r#"[{"name": "storage", "ips": [7]}]"#, "invalid type: integer"),
        (r#"[{"name": "storage"}"#, "EOF while parsing a list"),
        (r#"[{"name": "storage", "ips": ["192.168.7.7", "net1"]}]"#, "\"net1\" is not an IP address"),
        (r#"[{"name": "storage", "ips": ["192.168.7.7/24"]}]"#, "\"192.168.7.7/24\" is not an IP address"),
    ] {
        let missing = read(status, "storage").unwrap_err();
        assert!(
            missing.event_reason().is_some() && missing.to_string().contains(reason),
            "{status}: {missing}"
        );
    }
}

/// Only the addresses of the Service's network are read. Go reads deeper JSON than `serde_json` does, and half of a surrogate pair.
#[test]
fn a_malformed_address_of_another_network_is_ignored() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for ips in [r#"["?"]"#, "[7]", "{}", r#"["\ud800"]"#, deep.as_str()] {
        let status =
            format!(r#"[{{"name": "storage", "ips": ["192.168.7.7"]}}, {{"name": "other", "ips": {ips}}}]"#);
        assert_eq!(read(&status, "storage").unwrap(), ["192.168.7.7"], "{ips}");
    }
}

#[test]
fn a_network_named_like_that_of_the_cluster_is_another_one() {
    let status = r#"[{"name": "cbr0", "ips": ["10.1.0.7"], "default": true}, {"name": "shop/cbr0", "ips": ["192.168.7.7"]}]"#;
    assert_eq!(read(status, "cbr0").unwrap(), ["192.168.7.7"]);
}
