//! All that belongs to one Service by name: the objects that a rule looks at together.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::model::ServiceType;
use endpointslice::well_known::{
    ENDPOINT_CONTROLLER_NAME, ENDPOINTS_CONTROLLER, ENDPOINTS_MANAGED_BY, ENDPOINTSLICE_CONTROLLER,
    ENDPOINTSLICE_MIRRORING_CONTROLLER, LEADER, MANAGED_BY, SERVICE_NAME, SKIP_MIRROR,
};
use k8s_openapi::api::core::v1::{EndpointAddress, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::object::{ObjectRef, Subject};
use crate::metadata::{annotation, label, name};
use crate::snapshot::{NamespaceObjects, ServiceEntry, Snapshot};

/// A Service, and the Endpoints and slices that carry its name; each of them may be missing.
///
/// The slices without a Service's name form a group without a name.
pub(super) struct Group<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) service: Option<&'a ServiceEntry>,
    pub(super) endpoints: Option<&'a Endpoints>,
    /// Slices that are not being deleted, by name.
    pub(super) slices: Vec<&'a EndpointSlice>,
    /// Slices that are being deleted, by name.
    pub(super) deleted: Vec<&'a EndpointSlice>,
    /// The objects of the namespace.
    pub(super) objects: &'a NamespaceObjects,
    /// True if the namespace is being deleted, so that objects vanish in any order.
    pub(super) is_ending: bool,
}

/// The manager of a slice, by its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Manager<'a> {
    /// The EndpointSlice controller, whether upstream's or ours.
    EndpointSlice,
    /// The EndpointSliceMirroring controller.
    Mirroring,
    /// Another one.
    Other(&'a str),
    /// None is named.
    Unnamed,
}

impl<'a> Manager<'a> {
    pub(super) fn of(slice: &'a EndpointSlice) -> Self {
        match label(&slice.metadata, MANAGED_BY) {
            Some(ENDPOINTSLICE_CONTROLLER) => Self::EndpointSlice,
            Some(ENDPOINTSLICE_MIRRORING_CONTROLLER) => Self::Mirroring,
            Some(other) if !other.is_empty() => Self::Other(other),
            _ => Self::Unnamed,
        }
    }

    pub(super) fn is_ours(self) -> bool {
        matches!(self, Self::EndpointSlice | Self::Mirroring)
    }

    pub(super) fn name(self) -> &'a str {
        match self {
            Self::EndpointSlice => ENDPOINTSLICE_CONTROLLER,
            Self::Mirroring => ENDPOINTSLICE_MIRRORING_CONTROLLER,
            Self::Other(name) => name,
            Self::Unnamed => "a manager without a name",
        }
    }
}

impl<'a> Group<'a> {
    /// The Service itself as the object of a finding.
    pub(super) fn subject(&self) -> ObjectRef {
        ObjectRef::new(Subject::Service, self.namespace, self.name)
    }

    /// True if the Endpoints and EndpointSlice controllers publish the Service's pods.
    pub(super) fn is_served(&self) -> bool {
        self.service.is_some_and(|entry| entry.service.selects_pods())
    }

    /// True if clients resolve the Service to another name: it has no endpoints by design.
    pub(super) fn is_alias(&self) -> bool {
        self.service.is_some_and(|entry| entry.service.service_type == ServiceType::ExternalName)
    }

    /// True if slices mirror the Endpoints of this name.
    pub(super) fn is_mirrored(&self) -> bool {
        self.wants_mirror() && self.endpoints.is_some_and(|endpoints| !opts_out(endpoints))
    }

    /// True if the Service takes its endpoints from the Endpoints that users write.
    pub(super) fn wants_mirror(&self) -> bool {
        self.service.is_some_and(|entry| entry.service.selector.is_none())
    }

    /// The controller to which the Service's label leaves it, if any.
    pub(super) fn delegated_to(&self) -> Option<&'a str> {
        self.service.and_then(|entry| entry.service.labels.get(ENDPOINT_CONTROLLER_NAME))
    }

    /// True if the Service has a cluster IP.
    pub(super) fn has_cluster_ip(&self) -> bool {
        self.service.is_some_and(ServiceEntry::has_cluster_ip)
    }

    /// The slices of one manager that are not being deleted.
    pub(super) fn slices_of(&self, manager: Manager<'a>) -> impl Iterator<Item = &'a EndpointSlice> {
        self.slices.iter().copied().filter(move |slice| Manager::of(slice) == manager)
    }
}

/// True for Endpoints that the Endpoints controller maintains, or did while their Service had a selector.
pub(crate) fn is_managed(endpoints: &Endpoints) -> bool {
    label(&endpoints.metadata, ENDPOINTS_MANAGED_BY) == Some(ENDPOINTS_CONTROLLER)
}

/// True if Endpoints opt out of mirroring (`endpointslicemirroring/utils.go` `skipMirror`, `hasLeaderElection`).
pub(crate) fn opts_out(endpoints: &Endpoints) -> bool {
    label(&endpoints.metadata, SKIP_MIRROR) == Some("true") || elects_a_leader(endpoints)
}

/// True if Endpoints are the lock of a leader election.
pub(crate) fn elects_a_leader(endpoints: &Endpoints) -> bool {
    annotation(&endpoints.metadata, LEADER).is_some()
}

/// The endpoints of a slice.
pub(super) fn endpoints(slice: &EndpointSlice) -> &[Endpoint] {
    slice.endpoints.as_deref().unwrap_or_default()
}

/// The addresses of Endpoints, ready ones and others.
pub(super) fn addresses(endpoints: &Endpoints) -> impl Iterator<Item = &EndpointAddress> {
    let subsets = endpoints.subsets.iter().flatten();
    subsets.flat_map(|subset| subset.addresses.iter().chain(&subset.not_ready_addresses)).flatten()
}

/// The groups of a snapshot, by namespace and name.
///
/// Cost: linear in Services, Endpoints and slices, times the logarithm of their number.
pub(super) fn groups(snapshot: &Snapshot) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    for (namespace, objects) in snapshot.by_namespace() {
        let is_ending = snapshot
            .namespaces()
            .get(&**namespace)
            .is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some());
        let mut slices: BTreeMap<&str, Vec<&EndpointSlice>> = BTreeMap::new();
        for slice in objects.slices() {
            let service = label(&slice.metadata, SERVICE_NAME).unwrap_or_default();
            slices.entry(service).or_default().push(slice);
        }
        let services = objects.services().map(|entry| &*entry.service.name);
        let endpoints = objects.all_endpoints().map(|endpoints| name(&endpoints.metadata));
        let names: BTreeSet<&str> = services.chain(endpoints).chain(slices.keys().copied()).collect();
        groups.extend(names.into_iter().map(|name| {
            let slices = slices.remove(name).unwrap_or_default();
            let (deleted, slices) =
                slices.into_iter().partition(|slice| slice.metadata.deletion_timestamp.is_some());
            Group {
                namespace,
                name,
                service: objects.service(name),
                endpoints: objects.endpoints(name).map(|endpoints| &**endpoints),
                slices,
                deleted,
                objects,
                is_ending,
            }
        }));
    }
    groups
}
