//! Endpoints: `pkg/registry/core/endpoint` and `ValidateEndpoints`.

use serde_json::Value;

use super::checks::{self, PROTOCOLS};
use super::content;
use super::field::{Errors, Path};
use super::ip;
use super::metadata;
use super::strategy::{Scope, Strategy};
use super::tree;

/// The rules of Endpoints.
pub(super) struct Endpoints;

impl Strategy for Endpoints {
    fn default(&self, object: &mut Value) {
        for subset in tree::list_mut(object, "subsets") {
            for port in tree::list_mut(subset, "ports") {
                tree::set_default_text(port, "protocol", "TCP");
            }
        }
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        metadata::validate_own(object, true, content::subdomain_name, errors);
        validate_subsets(object, errors);
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        metadata::validate_own_update(object, old, errors);
        metadata::validate_own(object, true, content::subdomain_name, errors);
        let mut subsets = Errors::default();
        validate_subsets(object, &mut subsets);
        // Older versions took other data, which may stay.
        if !subsets.is_empty() && !tree::same(tree::field(object, "subsets"), tree::field(old, "subsets")) {
            errors.extend(subsets);
        }
    }

    fn creates_on_update(&self) -> bool {
        true
    }
}

fn validate_subsets(object: &Value, errors: &mut Errors) {
    let path = Path::root("subsets");
    for (index, subset) in tree::list(object, "subsets").iter().enumerate() {
        let path = path.index(index);
        let lists = ["addresses", "notReadyAddresses"].map(|key| (key, tree::list(subset, key)));
        if lists.iter().all(|(_, addresses)| addresses.is_empty()) {
            errors.required(&path, "must specify `addresses` or `notReadyAddresses`");
        }
        for (key, addresses) in lists {
            let path = path.child(key);
            for (index, address) in addresses.iter().enumerate() {
                validate_address(address, &path.index(index), errors);
            }
        }
        let ports = tree::list(subset, "ports");
        let path = path.child("ports");
        for (index, port) in ports.iter().enumerate() {
            validate_port(port, ports.len() > 1, &path.index(index), errors);
        }
    }
}

fn validate_address(address: &Value, path: &Path<'_>, errors: &mut Errors) {
    let text = tree::text(address, "ip");
    ip::check(errors, &path.child("ip"), text, &[]);
    let hostname = tree::text(address, "hostname");
    if !hostname.is_empty() {
        checks::label(hostname, &path.child("hostname"), errors);
    }
    if let Some(node) = tree::maybe_text(address, "nodeName") {
        checks::subdomain(node, &path.child("nodeName"), errors);
    }
    ip::check_endpoint(errors, &path.child("ip"), text);
}

fn validate_port(port: &Value, needs_name: bool, path: &Path<'_>, errors: &mut Errors) {
    let name = tree::text(port, "name");
    if !name.is_empty() {
        checks::label(name, &path.child("name"), errors);
    } else if needs_name {
        errors.required(&path.child("name"), "");
    }
    checks::port(tree::int(port, "port"), &path.child("port"), errors);
    checks::one_of(tree::text(port, "protocol"), PROTOCOLS, &path.child("protocol"), errors);
    if let Some(protocol) = tree::maybe_text(port, "appProtocol") {
        checks::qualified(protocol, &path.child("appProtocol"), errors);
    }
}
