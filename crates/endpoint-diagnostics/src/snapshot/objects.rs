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

/// Lists of objects; `None` if the caller may not read the kind.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// Services.
    pub services: Option<Vec<Service>>,
    /// Pods.
    pub pods: Option<Vec<Pod>>,
    /// Nodes.
    pub nodes: Option<Vec<Node>>,
    /// EndpointSlices.
    pub slices: Option<Vec<EndpointSlice>>,
    /// Endpoints.
    pub endpoints: Option<Vec<Endpoints>>,
    /// Namespaces.
    pub namespaces: Option<Vec<Namespace>>,
    /// ResourceClaims.
    pub claims: Option<Vec<ResourceClaim>>,
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

impl Objects {
    /// The kinds without a list.
    pub(super) fn missing(&self) -> Vec<Kind> {
        let listed = |kind: &Kind| match kind {
            Kind::Services => self.services.is_some(),
            Kind::Pods => self.pods.is_some(),
            Kind::Nodes => self.nodes.is_some(),
            Kind::EndpointSlices => self.slices.is_some(),
            Kind::Endpoints => self.endpoints.is_some(),
            Kind::Namespaces => self.namespaces.is_some(),
            Kind::ResourceClaims => self.claims.is_some(),
        };
        Kind::ALL.into_iter().filter(|kind| !listed(kind)).collect()
    }

    /// Adds an object to the list of its kind.
    pub fn push(&mut self, object: Object) {
        match object {
            Object::Service(object) => {
                self.services.get_or_insert_default().push(Arc::unwrap_or_clone(object))
            }
            Object::Pod(object) => self.pods.get_or_insert_default().push(Arc::unwrap_or_clone(object)),
            Object::Node(object) => self.nodes.get_or_insert_default().push(Arc::unwrap_or_clone(object)),
            Object::EndpointSlice(object) => {
                self.slices.get_or_insert_default().push(Arc::unwrap_or_clone(object))
            }
            Object::Endpoints(object) => {
                self.endpoints.get_or_insert_default().push(Arc::unwrap_or_clone(object))
            }
            Object::Namespace(object) => {
                self.namespaces.get_or_insert_default().push(Arc::unwrap_or_clone(object))
            }
            Object::ResourceClaim(claim) => {
                self.claims.get_or_insert_default().push(Arc::unwrap_or_clone(claim))
            }
        }
    }

    /// Lists without objects of every kind: a caller that may read all.
    pub fn readable() -> Self {
        Self {
            services: Some(vec![]),
            pods: Some(vec![]),
            nodes: Some(vec![]),
            slices: Some(vec![]),
            endpoints: Some(vec![]),
            namespaces: Some(vec![]),
            claims: Some(vec![]),
        }
    }

    pub(super) fn into_objects(self) -> impl Iterator<Item = Object> {
        fn all<T>(list: Option<Vec<T>>, object: fn(Arc<T>) -> Object) -> impl Iterator<Item = Object> {
            list.into_iter().flatten().map(move |it| object(Arc::new(it)))
        }
        all(self.nodes, Object::Node)
            .chain(all(self.namespaces, Object::Namespace))
            .chain(all(self.services, Object::Service))
            .chain(all(self.pods, Object::Pod))
            .chain(all(self.slices, Object::EndpointSlice))
            .chain(all(self.endpoints, Object::Endpoints))
            .chain(all(self.claims, Object::ResourceClaim))
    }
}
