//! Discovery one by one: versions, groups, and the resources of a version.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use crate::kinds::Kind;
use crate::reviews::REVIEWS;

/// The order in which the real server lists its groups.
const ORDER: &[&str] =
    &["apps", "authentication.k8s.io", "authorization.k8s.io", "coordination.k8s.io", "discovery.k8s.io"];

/// All groups but the core group, with their version. Each has one version: all kinds are `v1`.
fn named_groups(kinds: &[Kind]) -> Vec<(&'static str, &'static str)> {
    let of_kinds = kinds.iter().map(|kind| (kind.group, kind.version)).filter(|(group, _)| !group.is_empty());
    let mut groups: Vec<_> =
        of_kinds.chain(REVIEWS.iter().map(|review| (review.group, review.version))).collect();
    let rank = |group: &str| ORDER.iter().position(|other| *other == group).unwrap_or(ORDER.len());
    groups.sort_by_key(|(group, _)| (rank(group), *group));
    groups.dedup();
    groups
}

/// `/api`
pub(super) fn legacy_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// `/apis`
pub(super) fn group_list(kinds: &[Kind]) -> Value {
    let groups: Vec<_> = named_groups(kinds)
        .into_iter()
        .map(|(group, version)| Value::Object(entry(group, version)))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`
pub(super) fn group(kinds: &[Kind], group: &str) -> Option<Value> {
    let (group, version) = named_groups(kinds).into_iter().find(|(name, _)| *name == group)?;
    let mut object = entry(group, version);
    object.insert("kind".to_owned(), "APIGroup".into());
    object.insert("apiVersion".to_owned(), "v1".into());
    Some(Value::Object(object))
}

fn entry(group: &str, version: &str) -> Map<String, Value> {
    let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let mut entry = Map::new();
    entry.insert("name".to_owned(), group.into());
    entry.insert("versions".to_owned(), json!([version]));
    entry.insert("preferredVersion".to_owned(), version);
    entry
}

/// `/api/v1` and `/apis/GROUP/VERSION`
pub(super) fn resource_list(kinds: &[Kind], group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for kind in kinds.iter().filter(|kind| kind.group == group && kind.version == version) {
        resources.push(resource(kind));
        resources.extend(kind.subresources.iter().map(|subresource| {
            let mut entry = json!({
                "name": format!("{}/{}", kind.plural, subresource.name),
                "singularName": "",
                "namespaced": kind.namespaced,
                "kind": subresource.kind,
                "verbs": subresource.verbs,
            });
            if let (Some((group, version)), Some(fields)) = (subresource.group_version, entry.as_object_mut())
            {
                fields.insert("group".to_owned(), group.into());
                fields.insert("version".to_owned(), version.into());
            }
            entry
        }));
    }
    for review in REVIEWS.iter().filter(|review| review.group == group && review.version == version) {
        resources.push(json!({
            "name": review.plural,
            "singularName": review.singular(),
            "namespaced": false,
            "kind": review.kind,
            "verbs": ["create"],
        }));
    }
    if resources.is_empty() {
        return None;
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    // Upstream leaves it out of the oldest version.
    if let (false, Some(fields)) = (group.is_empty(), list.as_object_mut()) {
        fields.insert("apiVersion".to_owned(), "v1".into());
    }
    Some(list)
}

fn resource(kind: &Kind) -> Value {
    let mut entry = json!({
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": kind.verbs,
        "storageVersionHash": storage_version_hash(kind),
    });
    if let Some(fields) = entry.as_object_mut() {
        for (key, names) in [("shortNames", kind.short_names), ("categories", kind.categories)] {
            if !names.is_empty() {
                fields.insert(key.to_owned(), names.into());
            }
        }
    }
    entry
}

/// Changes when objects are stored in another version: eight bytes of SHA-256 of the kind they are stored as.
fn storage_version_hash(kind: &Kind) -> String {
    let hash = digest(&SHA256, format!("{}/{}/{}", kind.group, kind.version, kind.kind).as_bytes());
    BASE64_STANDARD.encode(hash.as_ref().get(..8).unwrap_or_default())
}
