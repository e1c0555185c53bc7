//! API objects of the kinds that diagnoses read.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pod_network_controller::ResourceClaim;

/// A kind of object that diagnoses read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Services.
    Services,
    /// Pods.
    Pods,
    /// Nodes.
    Nodes,
    /// EndpointSlices.
    EndpointSlices,
    /// Endpoints.
    Endpoints,
    /// Namespaces.
    Namespaces,
    /// ResourceClaims, which only Services on pod networks depend on.
    ResourceClaims,
}

/// One API object.
#[derive(Clone, Debug)]
pub enum Object {
    /// A Service.
    Service(Arc<Service>),
    /// A Pod.
    Pod(Arc<Pod>),
    /// A Node.
    Node(Arc<Node>),
    /// An EndpointSlice.
    EndpointSlice(Arc<EndpointSlice>),
    /// An Endpoints object.
    Endpoints(Arc<Endpoints>),
    /// A Namespace.
    Namespace(Arc<Namespace>),
    /// A ResourceClaim.
    ResourceClaim(Arc<ResourceClaim>),
}

impl Kind {
    /// The kinds that every diagnosis reads.
    pub const ALWAYS: [Self; 6] =
        [Self::Services, Self::Pods, Self::Nodes, Self::EndpointSlices, Self::Endpoints, Self::Namespaces];

    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Services,
        Self::Pods,
        Self::Nodes,
        Self::EndpointSlices,
        Self::Endpoints,
        Self::Namespaces,
        Self::ResourceClaims,
    ];

    /// The name of the resource, as in permissions and URLs.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Services => "services",
            Self::Pods => "pods",
            Self::Nodes => "nodes",
            Self::EndpointSlices => "endpointslices",
            Self::Endpoints => "endpoints",
            Self::Namespaces => "namespaces",
            Self::ResourceClaims => "resourceclaims",
        }
    }
}

impl Object {
    /// Namespace (empty for cluster-wide kinds) and name.
    pub fn key(&self) -> (&str, &str) {
        fn key(metadata: &ObjectMeta) -> (&str, &str) {
            (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
        }
        match self {
            Self::Service(object) => key(&object.metadata),
            Self::Pod(object) => key(&object.metadata),
            Self::Node(object) => key(&object.metadata),
            Self::EndpointSlice(object) => key(&object.metadata),
            Self::Endpoints(object) => key(&object.metadata),
            Self::Namespace(object) => key(&object.metadata),
            Self::ResourceClaim(claim) => (&claim.namespace, &claim.name),
        }
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Service(_) => Kind::Services,
            Self::Pod(_) => Kind::Pods,
            Self::Node(_) => Kind::Nodes,
            Self::EndpointSlice(_) => Kind::EndpointSlices,
            Self::Endpoints(_) => Kind::Endpoints,
            Self::Namespace(_) => Kind::Namespaces,
            Self::ResourceClaim(_) => Kind::ResourceClaims,
        }
    }
}
