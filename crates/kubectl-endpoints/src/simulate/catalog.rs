//! The kinds that the API server serves, from its discovery.

use std::collections::BTreeMap;

use cli_runtime::input::object::text;
use serde_json::Value;

use super::api::{Api, ApiError};

/// The served kinds by `apiVersion` and `kind`.
#[derive(Debug, Default)]
pub(crate) struct Catalog(BTreeMap<(String, String), Resource>);

/// The names of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) api_version: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
}

impl Catalog {
    /// Asks the API server.
    pub(crate) async fn read(api: &Api) -> Result<Self, ApiError> {
        let mut catalog = Self::default();
        let mut versions = vec!["/api/v1".to_owned()];
        let groups = api.get("/apis").await?;
        for group in groups.get("groups").and_then(Value::as_array).into_iter().flatten() {
            let served = group.get("versions").and_then(Value::as_array).into_iter().flatten();
            versions.extend(served.map(|version| format!("/apis/{}", text(version, &["groupVersion"]))));
        }
        for version in versions {
            catalog.add(&api.get(&version).await?);
        }
        Ok(catalog)
    }

    /// The kinds that controllers read and write, and Namespaces.
    pub(super) fn of_endpoints() -> Self {
        let kinds = [
            ("v1", "Namespace", "namespaces"),
            ("v1", "Node", "nodes"),
            ("v1", "Service", "services"),
            ("v1", "Pod", "pods"),
            ("v1", "Endpoints", "endpoints"),
            ("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
        ];
        let entry = |(version, kind, plural): (&str, &str, &str)| {
            let namespaced = !["Namespace", "Node"].contains(&kind);
            let names = Resource { api_version: version.to_owned(), plural: plural.to_owned(), namespaced };
            ((version.to_owned(), kind.to_owned()), names)
        };
        Self(kinds.map(entry).into())
    }

    /// Adds the kinds of an `APIResourceList`.
    pub(super) fn add(&mut self, list: &Value) {
        let api_version = text(list, &["groupVersion"]);
        for resource in list.get("resources").and_then(Value::as_array).into_iter().flatten() {
            let plural = text(resource, &["name"]);
            let verbs = resource.get("verbs").and_then(Value::as_array);
            let has = |verb: &str| verbs.is_some_and(|verbs| verbs.iter().any(|has| has == verb));
            // Subresources, and reviews that are not stored.
            if plural.contains('/') || !has("list") || !has("create") {
                continue;
            }
            let kind = text(resource, &["kind"]).to_owned();
            let namespaced = resource.get("namespaced").and_then(Value::as_bool).unwrap_or_default();
            let names =
                Resource { api_version: api_version.to_owned(), plural: plural.to_owned(), namespaced };
            self.0.insert((api_version.to_owned(), kind), names);
        }
    }

    /// The names of a kind, if it is served.
    pub(crate) fn get(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        self.0.get(&(api_version.to_owned(), kind.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_stored_kinds_are_taken() {
        let mut catalog = Catalog::default();
        catalog.add(&json!({"groupVersion": "v1", "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": true, "verbs": ["create", "list"]},
            {"name": "pods/status", "kind": "Pod", "namespaced": true, "verbs": ["get"]},
            {"name": "bindings", "kind": "Binding", "namespaced": true, "verbs": ["create"]},
        ]}));
        let pods = Resource { api_version: "v1".to_owned(), plural: "pods".to_owned(), namespaced: true };
        assert_eq!(catalog.get("v1", "Pod"), Some(&pods));
        assert_eq!(catalog.get("v1", "Binding"), None);
        assert_eq!(catalog.get("v2", "Pod"), None);
    }
}
