//! EndpointSlices: `pkg/registry/discovery/endpointslice` and `pkg/apis/discovery/validation`.

use serde_json::Value;

use super::checks::{self, PROTOCOLS};
use super::content;
use super::field::{Errors, Path};
use super::ip;
use super::metadata;
use super::strategy::{Scope, Strategy};
use super::tree;

const ADDRESS_TYPES: &[&str] = &["FQDN", "IPv4", "IPv6"];
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;
const MAX_ENDPOINTS: usize = 1_000;
const MAX_HINTS: usize = 8;

/// The rules of EndpointSlices.
pub(super) struct EndpointSlice;

impl Strategy for EndpointSlice {
    fn default(&self, object: &mut Value) {
        for port in tree::list_mut(object, "ports") {
            tree::set_default(port, "name", "");
            tree::set_default(port, "protocol", "TCP");
        }
    }

    fn prepare_for_create(&self, _scope: &Scope<'_>, object: &mut Value) {
        metadata::set_generation(object, 1);
        drop_topology(object);
    }

    fn prepare_for_update(&self, _scope: &Scope<'_>, object: &mut Value, old: &Value) {
        let has_new_endpoints = !tree::same(tree::field(object, "endpoints"), tree::field(old, "endpoints"));
        let is_changed = has_new_endpoints
            || ["addressType", "ports"]
                .iter()
                .any(|key| !tree::same(tree::field(object, key), tree::field(old, key)))
            || !tree::same(tree::at(object, &["metadata", "labels"]), tree::at(old, &["metadata", "labels"]));
        if is_changed {
            metadata::next_generation(object, metadata::generation(old));
        }
        if has_new_endpoints {
            drop_topology(object);
        }
    }

    fn validate(&self, _scope: &Scope<'_>, object: &Value, errors: &mut Errors) {
        validate(object, None, errors);
    }

    fn validate_update(&self, _scope: &Scope<'_>, object: &Value, old: &Value, errors: &mut Errors) {
        validate(object, Some(old), errors);
    }
}

/// Version 1 has no topology: what clients write there is dropped.
fn drop_topology(object: &mut Value) {
    for endpoint in tree::list_mut(object, "endpoints") {
        tree::remove(endpoint, "deprecatedTopology");
    }
}

fn validate(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    metadata::validate_own(object, true, content::subdomain_name, errors);
    let address_type = tree::text(object, "addressType");
    let is_new =
        |field| old.is_none_or(|old| !tree::same(tree::field(object, field), tree::field(old, field)));
    let changes_type = old.is_some() && is_new("addressType");
    let path = Path::root("addressType");
    // That the type changes keeps the generated checks from looking at its value.
    if changes_type && !address_type.is_empty() {
        checks::one_of(address_type, ADDRESS_TYPES, &path, errors);
    }
    validate_ports(tree::list(object, "ports"), errors);
    let endpoints = tree::list(object, "endpoints");
    // Older versions took other data, which may stay.
    if is_new("endpoints") {
        validate_endpoints(endpoints, address_type, errors);
    }

    // Checks that upstream generates from the types come last (`zz_generated.validations.go`).
    if address_type.is_empty() || old.is_none() {
        checks::one_of(address_type, ADDRESS_TYPES, &path, errors);
    }
    if changes_type {
        errors.invalid(&path, &Value::Null, "field is immutable");
    }
    if is_new("endpoints") {
        count_addresses(endpoints, errors);
    }
}

/// Each endpoint has from one to a hundred addresses.
fn count_addresses(endpoints: &[Value], errors: &mut Errors) {
    let path = Path::root("endpoints");
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(index);
        let path = path.child("addresses");
        match tree::list(endpoint, "addresses").len() {
            0 => errors.required(&path, ""),
            count if count > MAX_ADDRESSES => errors.too_many(&path, count, MAX_ADDRESSES),
            _ => {}
        }
    }
}

fn validate_ports(ports: &[Value], errors: &mut Errors) {
    let path = Path::root("ports");
    if ports.len() > MAX_PORTS {
        errors.too_many(&path, ports.len(), MAX_PORTS);
        return;
    }
    let mut names = Vec::with_capacity(ports.len());
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = tree::text(port, "name");
        if !name.is_empty() {
            checks::label(name, &path.child("name"), errors);
        }
        if names.contains(&name) {
            errors.duplicate(&path.child("name"), Value::from(name));
        } else {
            names.push(name);
        }
        match tree::maybe_text(port, "protocol") {
            None => errors.required(&path.child("protocol"), ""),
            Some(protocol) if !PROTOCOLS.contains(&protocol) => {
                errors.not_supported(&path.child("protocol"), Value::from(protocol), PROTOCOLS);
            }
            Some(_) => {}
        }
        if let Some(protocol) = tree::maybe_text(port, "appProtocol") {
            checks::qualified(protocol, &path.child("appProtocol"), errors);
        }
    }
}

fn validate_endpoints(endpoints: &[Value], address_type: &str, errors: &mut Errors) {
    let path = Path::root("endpoints");
    if endpoints.len() > MAX_ENDPOINTS {
        errors.too_many(&path, endpoints.len(), MAX_ENDPOINTS);
        return;
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(index);
        let addresses = tree::list(endpoint, "addresses");
        let addresses_path = path.child("addresses");
        for (index, address) in addresses.iter().enumerate() {
            let address = address.as_str().unwrap_or_default();
            validate_address(address, address_type, &addresses_path, index, errors);
        }
        if let Some(node) = tree::maybe_text(endpoint, "nodeName") {
            checks::subdomain(node, &path.child("nodeName"), errors);
        }
        if let Some(hostname) = tree::maybe_text(endpoint, "hostname") {
            checks::label(hostname, &path.child("hostname"), errors);
        }
        if tree::has(endpoint, "hints") {
            validate_hints(tree::field(endpoint, "hints"), &path.child("hints"), errors);
        }
    }
}

fn validate_address(address: &str, address_type: &str, parent: &Path<'_>, index: usize, errors: &mut Errors) {
    let path = parent.index(index);
    match address_type {
        "IPv4" if ip::check(errors, &path, address, &[]) => {
            if !ip::is_v4(address) {
                errors.invalid(parent, address, "must be an IPv4 address");
            }
            ip::check_endpoint(errors, &path, address);
        }
        "IPv6" if ip::check_canonical(errors, &path, address) => {
            if !ip::is_v6(address) {
                errors.invalid(parent, address, "must be an IPv6 address");
            }
            ip::check_endpoint(errors, &path, address);
        }
        "FQDN" => validate_domain(address, &path, errors),
        _ => {}
    }
}

/// `IsFullyQualifiedDomainName`.
fn validate_domain(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(path, "");
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let messages = content::dns_subdomain(name);
    if !messages.is_empty() {
        errors.invalid(path, name, &messages.join(","));
        return;
    }
    if !name.contains('.') {
        errors.invalid(path, name, "should be a domain with at least two segments separated by dots");
        return;
    }
    for label in name.split('.') {
        let messages = content::dns_label(label);
        if !messages.is_empty() {
            errors.invalid(path, label, &messages.join(","));
        }
    }
}

fn validate_hints(hints: &Value, path: &Path<'_>, errors: &mut Errors) {
    let rules: [(&str, fn(&str) -> Vec<String>); 2] =
        [("forZones", content::label_value), ("forNodes", content::dns_subdomain)];
    for (key, rule) in rules {
        let items = tree::list(hints, key);
        let path = path.child(key);
        if items.len() > MAX_HINTS {
            errors.too_many(&path, items.len(), MAX_HINTS);
            return;
        }
        let mut names = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let name = tree::text(item, "name");
            let path = path.index(index);
            let path = path.child("name");
            if names.contains(&name) {
                errors.duplicate(&path, name);
            } else {
                names.push(name);
            }
            errors.invalid_each(&path, name, &rule(name));
        }
    }
}
