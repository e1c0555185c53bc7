//! The objects that findings and repairs name, and their metadata.

use std::fmt;

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use crate::metadata::name;

/// The kind of an object that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Subject {
    /// A Service.
    Service,
    /// An Endpoints object.
    Endpoints,
    /// An EndpointSlice.
    EndpointSlice,
}

/// The object that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// The namespace.
    pub namespace: String,
    /// The kind.
    pub kind: Subject,
    /// The name.
    pub name: String,
}

impl Subject {
    /// The kind, as in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::Endpoints => "Endpoints",
            Self::EndpointSlice => "EndpointSlice",
        }
    }
}

impl ObjectRef {
    pub(super) fn new(kind: Subject, namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), kind, name: name.to_owned() }
    }

    pub(super) fn slice(slice: &EndpointSlice) -> Self {
        Self::of(Subject::EndpointSlice, &slice.metadata)
    }

    pub(super) fn endpoints(endpoints: &Endpoints) -> Self {
        Self::of(Subject::Endpoints, &endpoints.metadata)
    }

    pub(super) fn of(kind: Subject, metadata: &ObjectMeta) -> Self {
        Self::new(kind, metadata.namespace.as_deref().unwrap_or_default(), name(metadata))
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, kind, name } = self;
        write!(f, "{} {namespace}/{name}", kind.name())
    }
}
