//! Metadata of the slices of one owner.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::desired::PortSet;
use crate::model::{AddressType, Service, endpoints_of};
use crate::well_known::{
    HEADLESS, LAST_APPLIED_CONFIGURATION, LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, SERVICE_NAME,
};

/// Metadata that every slice of an owner gets, and which slices an update may touch.
#[derive(Clone, Debug)]
pub struct SliceTemplate {
    pub(super) owner: Owner,
    labels: BTreeMap<String, String>,
    labels_not_compared: &'static [&'static str],
    annotations: AnnotationPolicy,
    ownership: OwnershipPolicy,
    update: UpdateMode,
}

/// An owner of slices. Slices are created in its namespace, and their names begin with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    api_version: Cow<'static, str>,
    kind: Cow<'static, str>,
    namespace: String,
    name: String,
    uid: String,
    pub(super) deleting: bool,
}

/// Annotations of slices that are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationPolicy {
    /// A write sets the trigger time, or removes it if there is none. Other annotations stay. No annotation ever causes
    /// a write.
    TriggerTime(Option<String>),
    /// Slices have exactly these annotations; a difference causes a write.
    Exactly(BTreeMap<String, String>),
}

/// Slices that may be updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnershipPolicy {
    /// Only slices with an owner reference to the owner's uid. Others are deleted: they belong to an older object of
    /// the same name, and the garbage collector may be removing them.
    Enforced,
    /// All slices. If the owner reference names an older object of the same kind and name, the slice is rewritten.
    Adopted,
}

/// Content of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// The slice as it was read, with the changes. Its resourceVersion makes the update fail with a conflict if another
    /// client wrote in between; finalizers, other owner references and unknown annotations stay.
    Changed,
    /// A new slice under the old name, without a resourceVersion, which replaces any present content.
    Replaced,
}

impl Owner {
    /// The owner of this kind with this metadata: namespace, name, uid, and whether it is being deleted.
    ///
    /// For an owner that is being deleted no slices are created any more, because garbage collection might already be
    /// removing them (`reconciler.go` `finalize`).
    pub fn new(
        api_version: impl Into<Cow<'static, str>>,
        kind: impl Into<Cow<'static, str>>,
        metadata: &ObjectMeta,
    ) -> Self {
        Self {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
        }
    }
}

impl From<&Service> for Owner {
    fn from(service: &Service) -> Self {
        Self {
            api_version: "v1".into(),
            kind: "Service".into(),
            namespace: service.namespace.to_string(),
            name: service.name.to_string(),
            uid: service.uid.to_string(),
            deleting: service.deleting,
        }
    }
}

impl AnnotationPolicy {
    /// True if `slice` has to be written for its annotations.
    fn differ(&self, slice: &EndpointSlice) -> bool {
        match self {
            Self::TriggerTime(_) => false,
            Self::Exactly(wanted) => !wanted.iter().eq(slice.metadata.annotations.iter().flatten()),
        }
    }

    fn set(&self, annotations: &mut Option<BTreeMap<String, String>>) {
        match self {
            Self::Exactly(wanted) => *annotations = Some(wanted.clone()),
            Self::TriggerTime(Some(time)) => {
                let annotations = annotations.get_or_insert_default();
                annotations.insert(LAST_CHANGE_TRIGGER_TIME.to_owned(), time.clone());
            }
            Self::TriggerTime(None) => {
                if let Some(present) = annotations {
                    present.remove(LAST_CHANGE_TRIGGER_TIME);
                }
            }
        }
        annotations.take_if(|annotations| annotations.is_empty());
    }
}

impl SliceTemplate {
    /// The template for slices that the controller `managed_by` writes for the Service of the owner's name.
    ///
    /// Slices have the labels `kubernetes.io/service-name` and `endpointslice.kubernetes.io/managed-by`. The trigger time
    /// is removed, ownership enforced, and updates send the slice as it was read; setters change each of these.
    pub fn new(owner: Owner, managed_by: &str) -> Self {
        let labels = [(SERVICE_NAME, owner.name.as_str()), (MANAGED_BY, managed_by)];
        Self {
            labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            owner,
            labels_not_compared: &[],
            annotations: AnnotationPolicy::TriggerTime(None),
            ownership: OwnershipPolicy::Enforced,
            update: UpdateMode::Changed,
        }
    }

    /// The template for slices of a Service.
    ///
    /// Labels of the Service are carried over, except the three that slices use themselves, which are set here and never
    /// compared (`utils.go` `setEndpointSliceLabels`). `managed_by` names the controller, such as
    /// [`ENDPOINTSLICE_CONTROLLER`](crate::well_known::ENDPOINTSLICE_CONTROLLER).
    pub fn for_service(service: &Service, managed_by: &str) -> Self {
        const RESERVED: &[&str] = &[SERVICE_NAME, MANAGED_BY, HEADLESS];
        let carried = service.labels.iter().filter(|(key, _)| !RESERVED.contains(&&***key));
        let carried = carried.map(|(key, value)| (key.as_ref().to_owned(), value.as_ref().to_owned()));
        let headless = service.is_headless() || service.cluster_ip.is_empty();
        let headless = headless.then(|| (HEADLESS.to_owned(), String::new()));
        Self::new(Owner::from(service), managed_by)
            .with_labels(carried.chain(headless))
            .with_labels_not_compared(RESERVED)
    }

    /// The template for slices that mirror an Endpoints object.
    ///
    /// Its labels and annotations are carried over, except the two labels that slices use themselves and the two
    /// annotations that describe the Endpoints object alone (`endpointslicemirroring/utils.go` `newEndpointSlice`,
    /// `cloneAndRemoveKeys`).
    pub fn for_endpoints(endpoints: &Endpoints, managed_by: &str) -> Self {
        const RESERVED: &[&str] = &[SERVICE_NAME, MANAGED_BY];
        const EXCLUDED: [&str; 2] = [LAST_CHANGE_TRIGGER_TIME, LAST_APPLIED_CONFIGURATION];
        let carried = endpoints.metadata.labels.iter().flatten();
        let carried = carried.filter(|(key, _)| !RESERVED.contains(&key.as_str()));
        let mut annotations = endpoints.metadata.annotations.clone().unwrap_or_default();
        annotations.retain(|key, _| !EXCLUDED.contains(&key.as_str()));
        Self::new(Owner::new("v1", "Endpoints", &endpoints.metadata), managed_by)
            .with_labels(carried.map(|(key, value)| (key.clone(), value.clone())))
            .with_labels_not_compared(RESERVED)
            .with_annotations(AnnotationPolicy::Exactly(annotations))
            .with_ownership(OwnershipPolicy::Adopted)
            .with_update_mode(UpdateMode::Replaced)
    }

    /// Adds labels to those of all slices; one with the same key is replaced.
    #[must_use]
    pub fn with_labels(mut self, labels: impl IntoIterator<Item = (String, String)>) -> Self {
        self.labels.extend(labels);
        self
    }

    /// Labels that never cause a write when they differ; any write corrects them.
    #[must_use]
    pub fn with_labels_not_compared(self, keys: &'static [&'static str]) -> Self {
        Self { labels_not_compared: keys, ..self }
    }

    /// Sets the annotation `endpoints.kubernetes.io/last-change-trigger-time` in every write, or removes it.
    #[must_use]
    pub fn with_trigger_time(self, time: Option<String>) -> Self {
        self.with_annotations(AnnotationPolicy::TriggerTime(time))
    }

    /// Handles annotations by another policy.
    #[must_use]
    pub fn with_annotations(self, annotations: AnnotationPolicy) -> Self {
        Self { annotations, ..self }
    }

    /// Decides by another policy which slices may be updated.
    #[must_use]
    pub fn with_ownership(self, ownership: OwnershipPolicy) -> Self {
        Self { ownership, ..self }
    }

    /// Sends other content in updates.
    #[must_use]
    pub fn with_update_mode(self, update: UpdateMode) -> Self {
        Self { update, ..self }
    }

    /// The labels of all slices.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// A new slice without endpoints. The API server completes the name.
    pub(super) fn new_slice(&self, address_type: AddressType, ports: PortSet) -> EndpointSlice {
        EndpointSlice {
            metadata: self.new_metadata(),
            address_type: address_type.as_str().to_owned(),
            ports: Some(ports.into_vec()),
            endpoints: Vec::new().into(),
        }
    }

    fn new_metadata(&self) -> ObjectMeta {
        let owner = OwnerReference {
            api_version: self.owner.api_version.to_string(),
            kind: self.owner.kind.to_string(),
            name: self.owner.name.clone(),
            uid: self.owner.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        };
        ObjectMeta {
            generate_name: Some(format!("{}-", self.owner.name)),
            namespace: Some(self.owner.namespace.clone()),
            labels: Some(self.labels.clone()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        }
    }

    /// True if `slice` is the owner's and need not be written for its labels, its annotations or its owner.
    pub fn is_current(&self, slice: &EndpointSlice) -> bool {
        self.accepts(slice) && !self.metadata_differs(slice)
    }

    /// True if `slice` may be updated or get other content.
    pub(super) fn accepts(&self, slice: &EndpointSlice) -> bool {
        self.ownership == OwnershipPolicy::Adopted || self.owns(slice)
    }

    /// True if `slice` must be written for its labels, its annotations or its owner.
    pub(super) fn metadata_differs(&self, slice: &EndpointSlice) -> bool {
        self.labels_differ(slice) || self.annotations.differ(slice) || self.has_stale_owner(slice)
    }

    /// True if `slice` names an older object of the owner's kind and name (`endpointslicemirroring/reconciler_helpers.go`
    /// `needRebuildExistingSlices`).
    fn has_stale_owner(&self, slice: &EndpointSlice) -> bool {
        self.ownership == OwnershipPolicy::Adopted
            && slice.metadata.owner_references.iter().flatten().any(|reference| {
                reference.kind == self.owner.kind
                    && reference.name == self.owner.name
                    && reference.uid != self.owner.uid
            })
    }

    /// True if `slice` has an owner reference to this owner (`reconciler.go` `ownedBy`).
    fn owns(&self, slice: &EndpointSlice) -> bool {
        slice.metadata.owner_references.iter().flatten().any(|reference| {
            reference.uid == self.owner.uid
                && reference.kind == self.owner.kind
                && reference.api_version == self.owner.api_version
        })
    }

    /// True if `slice` must be written for its labels.
    fn labels_differ(&self, slice: &EndpointSlice) -> bool {
        let compared = |(key, _): &(&String, &String)| !self.labels_not_compared.contains(&key.as_str());
        let present = slice.metadata.labels.iter().flatten().filter(compared);
        !self.labels.iter().filter(compared).eq(present)
    }

    /// True if `slice` is already the placeholder this template would create: right type, no ports, no endpoints,
    /// same namespace and labels. A label with an empty value counts as absent (`utils.go`
    /// `placeholderSliceCompare`).
    pub(super) fn is_placeholder(&self, slice: &EndpointSlice, address_type: AddressType) -> bool {
        let set = |(_, value): &(&String, &String)| !value.is_empty();
        let present = slice.metadata.labels.iter().flatten().filter(set);
        slice.address_type == address_type.as_str()
            && slice.ports.iter().all(Vec::is_empty)
            && endpoints_of(slice).is_empty()
            && slice.metadata.namespace.as_deref() == Some(&self.owner.namespace)
            && self.labels.iter().filter(set).eq(present)
    }

    /// Completes the metadata of a slice that is about to be written.
    pub(super) fn stamp(&self, slice: &mut EndpointSlice) {
        if self.update == UpdateMode::Replaced && slice.metadata.name.is_some() {
            let name = slice.metadata.name.take();
            slice.metadata = ObjectMeta { name, generate_name: None, ..self.new_metadata() };
        }
        if slice.metadata.labels.as_ref() != Some(&self.labels) {
            slice.metadata.labels = Some(self.labels.clone());
        }
        self.annotations.set(&mut slice.metadata.annotations);
    }
}
