//! The kinds that are watched: their paths, and their objects from JSON.

use std::sync::Arc;

use cli_runtime::input::object::key;
use endpoint_diagnostics::Object;
use endpoint_diagnostics::snapshot::Kind;
use endpoint_informers::resource::Resource as _;
use endpointslice::Interner;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use pod_network_controller::ResourceClaim;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::warn;

use super::narrow::narrowed;
use crate::objects::collection;

/// A kind in a namespace, or in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) kind: Kind,
    /// None for all namespaces.
    pub(crate) namespace: Option<String>,
}

impl Resource {
    /// The path of the collection.
    pub(crate) fn path(&self) -> String {
        let namespace = self.namespace.as_deref().filter(|_| self.is_namespaced());
        collection(self.head().0, self.kind.resource(), namespace.unwrap_or_default())
    }

    /// `apiVersion` and `kind` of its objects, which the elements of a list lack.
    pub(crate) fn head(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::Services => ("v1", "Service"),
            Kind::Pods => ("v1", "Pod"),
            Kind::Nodes => ("v1", "Node"),
            Kind::EndpointSlices => ("discovery.k8s.io/v1", "EndpointSlice"),
            Kind::Endpoints => ("v1", "Endpoints"),
            Kind::Namespaces => ("v1", "Namespace"),
            Kind::ResourceClaims => ("resource.k8s.io/v1", "ResourceClaim"),
        }
    }

    fn is_namespaced(&self) -> bool {
        !matches!(self.kind, Kind::Nodes | Kind::Namespaces)
    }

    /// True if reports do without this kind, and only say less.
    pub(crate) fn is_optional(&self) -> bool {
        !self.is_namespaced() || self.kind == Kind::Endpoints
    }

    /// An object from JSON. One that can't be decoded is left out: it must not hide all others.
    pub(crate) fn readable(&self, json: &str) -> Option<Object> {
        let unreadable = |error: &serde_json::Error| {
            let name = serde_json::from_str(json).map(|tree: Value| key(&tree)).unwrap_or_default();
            warn!(resource = self.kind.resource(), object = name, err = %error, "Left out an unreadable object");
        };
        self.object(json).inspect_err(unreadable).ok()
    }

    fn object(&self, json: &str) -> Result<Object, serde_json::Error> {
        match self.kind {
            Kind::Services => parsed(self.kind, json).map(Object::Service),
            Kind::Pods => parsed(self.kind, json).map(Object::Pod),
            Kind::Nodes => parsed(self.kind, json).map(Object::Node),
            Kind::EndpointSlices => parsed(self.kind, json).map(Object::EndpointSlice),
            Kind::Endpoints => parsed(self.kind, json).map(Object::Endpoints),
            Kind::Namespaces => parsed(self.kind, json).map(Object::Namespace),
            Kind::ResourceClaims => claim(json).map(Object::ResourceClaim),
        }
    }
}

/// A ResourceClaim, as far as its controller reads it: parameters of drivers have any shape.
pub(crate) fn claim(json: &str) -> Result<Arc<ResourceClaim>, serde_json::Error> {
    ResourceClaim::read_json(json, &mut Interner::default()).map(|(claim, _)| Arc::new(claim))
}

fn parsed<T>(kind: Kind, json: &str) -> Result<Arc<T>, serde_json::Error>
where
    T: DeserializeOwned + k8s_openapi::Metadata<Ty = ObjectMeta>,
{
    let mut object: T = serde_json::from_str(&narrowed(kind, json)?)?;
    // Diagnoses read the time of the newest change, and `status` who made it.
    let managers = object.metadata_mut().managed_fields.take().into_iter().flatten();
    let newest = managers.filter(|manager| manager.time.is_some());
    let newest = newest.max_by_key(|manager| manager.time.as_ref().map(|time| time.0));
    object.metadata_mut().managed_fields = newest.map(|ManagedFieldsEntry { time, manager, .. }| {
        vec![ManagedFieldsEntry { time, manager, ..ManagedFieldsEntry::default() }]
    });
    Ok(Arc::new(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_have_paths() {
        let path =
            |kind, namespace: Option<&str>| Resource { kind, namespace: namespace.map(Into::into) }.path();
        assert_eq!(path(Kind::Pods, None), "/api/v1/pods");
        assert_eq!(path(Kind::Pods, Some("shop")), "/api/v1/namespaces/shop/pods");
        assert_eq!(path(Kind::Nodes, Some("shop")), "/api/v1/nodes");
        let slices = path(Kind::EndpointSlices, Some("shop"));
        assert_eq!(slices, "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices");
    }

    #[test]
    fn the_newest_time_is_kept_of_managed_fields() {
        let pods = Resource { kind: Kind::Pods, namespace: None };
        let managers =
            r#"[{"manager": "x", "time": "2001-01-01T00:00:02Z"}, {"time": "2001-01-01T00:00:01Z"}, {}]"#;
        let json = format!(
            r#"{{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "web", "managedFields": {managers}}}}}"#
        );
        let Object::Pod(pod) = pods.object(&json).unwrap() else { panic!("another kind") };
        let [kept] = pod.metadata.managed_fields.as_deref().unwrap() else { panic!("more than one") };
        assert_eq!(
            (kept.time.as_ref().unwrap().0.to_string(), &kept.manager),
            ("2001-01-01T00:00:02Z".to_owned(), &Some("x".to_owned()))
        );
        assert!(pods.object(r#"{"kind": "Service"}"#).is_err());
        assert!(pods.object("{}").is_ok(), "fields are optional");
    }
}
