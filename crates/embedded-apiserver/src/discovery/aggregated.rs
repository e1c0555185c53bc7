//! Aggregated discovery: all groups, versions and resources in one document.

use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::kinds::{Kind, Subresource};
use crate::reviews::REVIEWS;

use super::accept::Accepted;
use super::document::Document;
use super::groups::named_groups;

/// True if the client prefers the aggregated form to all other that this server has.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let known = |range: &Accepted| range.parameter("as").is_empty() || is_aggregated(range);
    let mut ranges = Accepted::of(headers).into_iter().filter(|range| range.includes("application/json"));
    ranges.find(known).is_some_and(|range| is_aggregated(&range))
}

fn is_aggregated(range: &Accepted) -> bool {
    range.parameter("g") == "apidiscovery.k8s.io"
        && range.parameter("v") == "v2"
        && range.parameter("as") == "APIGroupDiscoveryList"
}

/// The groups of the table that `is_here` selects.
pub(super) fn document(kinds: &[Kind], is_here: impl Fn(&str) -> bool) -> Document {
    let groups = [("", "v1")].into_iter().chain(named_groups(kinds)).filter(|(group, _)| is_here(group));
    let items: Vec<_> = groups.map(|(name, version)| group(kinds, name, version)).collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    });
    Document::new("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", list.to_string())
}

fn group(kinds: &[Kind], group: &str, version: &str) -> Value {
    let of_kinds = kinds.iter().filter(|kind| kind.group == group && kind.version == version).map(resource);
    let of_reviews = REVIEWS.iter().filter(|review| review.group == group).map(|review| {
        json!({
            "resource": review.plural,
            "responseKind": {"group": "", "version": "", "kind": review.kind},
            "scope": scope(review.namespaced),
            "singularResource": review.singular(),
            "verbs": ["create"],
        })
    });
    let resources: Vec<_> = of_kinds.chain(of_reviews).collect();
    let mut metadata = Map::new();
    if !group.is_empty() {
        metadata.insert("name".to_owned(), group.into());
    }
    let version = json!({"version": version, "resources": resources, "freshness": "Current"});
    json!({"metadata": metadata, "versions": [version]})
}

fn resource(kind: &Kind) -> Value {
    let mut resource = Map::new();
    resource.insert("resource".to_owned(), kind.plural.into());
    resource.insert("responseKind".to_owned(), json!({"group": "", "version": "", "kind": kind.kind}));
    resource.insert("scope".to_owned(), scope(kind.namespaced).into());
    resource.insert("singularResource".to_owned(), kind.singular.into());
    resource.insert("verbs".to_owned(), kind.verbs.into());
    for (key, names) in [("shortNames", kind.short_names), ("categories", kind.categories)] {
        if !names.is_empty() {
            resource.insert(key.to_owned(), names.into());
        }
    }
    if !kind.subresources.is_empty() {
        resource.insert("subresources".to_owned(), kind.subresources.iter().map(subresource).collect());
    }
    Value::Object(resource)
}

fn scope(namespaced: bool) -> &'static str {
    if namespaced { "Namespaced" } else { "Cluster" }
}

fn subresource(subresource: &Subresource) -> Value {
    let (group, version) = subresource.group_version.unwrap_or_default();
    json!({
        "subresource": subresource.name,
        "responseKind": {"group": group, "version": version, "kind": subresource.kind},
        "verbs": subresource.verbs,
    })
}
