//! One Service with the objects that its report depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpointslice::model::Kubelet;
use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER};
use endpointslice::{Node, Pod, Service};
use k8s_openapi::api::core::v1::{self as core, Endpoints};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::time::{self, LAG_BOUND};
use crate::audit::is_managed;
use crate::metadata::{delegate, slice_manager};
use crate::snapshot::{Kind, NamespaceObjects, PodEntry, ServiceEntry, Snapshot};

/// The rule by which a Service gets slices and Endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EndpointSource {
    /// The pods that it selects.
    Pods,
    /// It has no selector: its Endpoints are the users'.
    CustomEndpoints,
    /// It is an alias.
    ExternalName,
    /// Another controller keeps them, which is named.
    Delegated(String),
}

/// One Service with the objects that its report depends on.
pub(super) struct Subject<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) objects: &'a NamespaceObjects,
    pub(super) entry: &'a ServiceEntry,
    pub(super) source: EndpointSource,
    /// The pods that the Service selects, by name.
    pub(super) selected: Vec<&'a PodEntry>,
    /// All slices of the Service's name, of every manager.
    pub(super) slices: Vec<&'a EndpointSlice>,
    pub(super) endpoints: Option<&'a Endpoints>,
    /// Pods that are ready for the controllers because their kubelets are lost, by name.
    kept_ready: BTreeMap<Box<str>, Pod>,
    /// Nodes in the place of those that may not be read.
    assumed_nodes: BTreeMap<&'a str, Node>,
}

/// A pod's node.
#[derive(Clone, Copy, Debug)]
pub(super) enum PodNode<'a> {
    /// The pod is not scheduled.
    None,
    /// A node of this name does not exist.
    Unknown(&'a str),
    /// It exists.
    Known(&'a Node),
    /// Nodes may not be read.
    Unreadable,
}

impl<'a> Subject<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, key: &ObjectKey) -> Option<Self> {
        let objects = snapshot.namespace(&key.namespace)?;
        let entry = objects.service(&key.name)?;
        let selected = objects.selected(&entry.service);
        let slices: Vec<&EndpointSlice> = objects.slices_of(&key.name).map(|slice| &**slice).collect();
        let endpoints = objects.endpoints(&key.name).map(|endpoints| &**endpoints);
        let source = source(&entry.service, &entry.object, &slices, endpoints);
        let ours = slices.iter().copied().filter(|slice| slice_manager(slice) == ENDPOINTSLICE_CONTROLLER);
        let kept_ready = snapshot.kept_ready(selected.iter().copied(), ours);
        let mut subject = Self {
            snapshot,
            objects,
            entry,
            source,
            selected,
            slices,
            endpoints,
            kept_ready,
            assumed_nodes: BTreeMap::new(),
        };
        if !snapshot.can_read(Kind::Nodes) {
            subject.assumed_nodes = subject.assume_nodes();
        }
        Some(subject)
    }

    pub(super) fn service(&self) -> &'a Service {
        &self.entry.service
    }

    /// A pod as the controllers see it.
    pub(super) fn pod<'s>(&'s self, entry: &'s PodEntry) -> &'s Pod {
        self.kept_ready.get(&entry.pod.name).unwrap_or(&entry.pod)
    }

    /// True if the controllers keep the readiness that a pod had before its kubelet was lost.
    pub(super) fn is_kept_ready(&self, entry: &PodEntry) -> bool {
        self.kept_ready.contains_key(&entry.pod.name)
    }

    /// True if the controllers keep the readiness of pods of the Service, and of their nodes.
    pub(super) fn is_disrupted(&self) -> bool {
        !self.kept_ready.is_empty()
    }

    /// The slices of a controller that are not being deleted.
    pub(super) fn managed_by(&self, controller: &'a str) -> impl Iterator<Item = &'a EndpointSlice> {
        self.slices.iter().copied().filter(move |slice| {
            slice_manager(slice) == controller && slice.metadata.deletion_timestamp.is_none()
        })
    }

    /// The slices of Kubernetes' controllers that are not being deleted.
    pub(super) fn managed_slices(&self) -> impl Iterator<Item = &'a EndpointSlice> {
        self.managed_by(ENDPOINTSLICE_CONTROLLER).chain(self.managed_by(ENDPOINTSLICE_MIRRORING_CONTROLLER))
    }

    /// The kinds that the Service depends on and the caller may not read.
    pub(super) fn unread(&self) -> impl Iterator<Item = Kind> {
        let needed: &[Kind] = match self.source {
            EndpointSource::Pods => &[Kind::Pods, Kind::EndpointSlices, Kind::Endpoints],
            // They show whether the label of a delegated Service counts.
            EndpointSource::CustomEndpoints | EndpointSource::Delegated(_) => {
                &[Kind::EndpointSlices, Kind::Endpoints]
            }
            EndpointSource::ExternalName => &[],
        };
        needed.iter().copied().filter(|kind| !self.snapshot.can_read(*kind))
    }

    /// True if nothing can be said about the Service. Slices alone can, without its Endpoints, unless these are their
    /// source.
    pub(super) fn is_undecided(&self) -> bool {
        self.unread().any(|kind| kind != Kind::Endpoints || self.source == EndpointSource::CustomEndpoints)
    }

    /// True if the API server refuses new objects, because the namespace is being deleted.
    pub(super) fn refuses_objects(&self) -> bool {
        let namespace = self.snapshot.namespaces().get(&*self.entry.service.namespace);
        namespace.is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some())
    }

    /// False if the controller of Endpoints is off, or seems to be; none if that cannot be told. Those of a Service that has
    /// just been created or changed may still come. Those that may not be read are left out.
    pub(super) fn manages_endpoints(&self) -> Option<bool> {
        if self.source != EndpointSource::Pods || !self.snapshot.can_read(Kind::Endpoints) {
            return Some(true);
        }
        let now = self.snapshot.now();
        let newest = time::of_metadata(&self.entry.object.metadata, now);
        let age = newest.map(|newest| now.duration_since(newest).abs());
        let is_recent = age.is_some_and(|age| age < LAG_BOUND);
        self.snapshot.manages_endpoints().or(is_recent.then_some(true))
    }

    /// The node of a pod.
    pub(super) fn node_of(&self, pod: &'a PodEntry) -> PodNode<'a> {
        let Some(name) = pod.pod.node_name.as_deref() else { return PodNode::None };
        if !self.snapshot.can_read(Kind::Nodes) {
            return PodNode::Unreadable;
        }
        self.snapshot.nodes().get(name).map_or(PodNode::Unknown(name), PodNode::Known)
    }

    /// The node of a name as controllers know it. If nodes may not be read, each counts as existing.
    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        self.snapshot.nodes().get(name).or_else(|| self.assumed_nodes.get(name))
    }

    /// The nodes of all pods, in the zones in which slices have them.
    fn assume_nodes(&self) -> BTreeMap<&'a str, Node> {
        let endpoints = self.slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
        let zones: BTreeMap<&str, &str> =
            endpoints.filter_map(|it| it.node_name.as_deref().zip(it.zone.as_deref())).collect();
        let names = self.selected.iter().filter_map(|pod| pod.pod.node_name.as_deref());
        let node = |name: &'a str| {
            let zone = zones.get(name).map(|zone| Arc::from(*zone));
            let name_of_node = Arc::from(name);
            (
                name,
                Node {
                    name: name_of_node,
                    zone,
                    ready: true,
                    kubelet: Kubelet::Unread,
                    control_plane: false,
                    excluded_from_disruption: false,
                    allocatable_milli_cpu: 0,
                },
            )
        };
        names.map(node).collect()
    }
}

/// The rule for a Service.
///
/// Kubernetes' controllers ignore the label that delegates a Service, and so do ours without their feature gate. The label
/// is taken at its word only if they have neither slices nor Endpoints of the Service.
fn source(
    service: &Service,
    object: &core::Service,
    slices: &[&EndpointSlice],
    endpoints: Option<&Endpoints>,
) -> EndpointSource {
    if object.spec.as_ref().and_then(|spec| spec.type_.as_deref()) == Some("ExternalName") {
        return EndpointSource::ExternalName;
    }
    if let Some(delegate) = delegate(object) {
        let ours = [ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER];
        let is_ours = |slice: &&EndpointSlice| {
            ours.contains(&slice_manager(slice)) && slice.metadata.deletion_timestamp.is_none()
        };
        let is_kept = slices.iter().any(is_ours) || endpoints.is_some_and(is_managed);
        if !is_kept {
            return EndpointSource::Delegated(delegate.to_owned());
        }
    }
    if service.selects_pods() {
        EndpointSource::Pods
    } else if service.selector.is_none() {
        EndpointSource::CustomEndpoints
    } else {
        EndpointSource::ExternalName
    }
}
