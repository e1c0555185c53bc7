//! Discovery one by one: versions, groups, and the resources of a version.

use serde_json::{Value, json};

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
pub(super) fn legacy_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"]})
}

/// `/apis`
pub(super) fn group_list(kinds: &[Kind]) -> Value {
    let entry = |(group, version)| {
        let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
        json!({"name": group, "versions": [version], "preferredVersion": version})
    };
    let groups: Vec<_> = named_groups(kinds).into_iter().map(entry).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
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
