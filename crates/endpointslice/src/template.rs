//! What a slice of one owner looks like, apart from its endpoints.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::address::AddressType;
use crate::port_set::PortSet;
use crate::service::Service;
use crate::well_known::{
    HEADLESS, LAST_APPLIED_CONFIGURATION, LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, SERVICE_NAME,
};

/// Metadata that every slice of an owner gets.
#[derive(Clone, Debug)]
pub struct SliceTemplate {
    /// The namespace of owner and slices.
    pub namespace: String,
    /// The object that owns the slices.
    pub owner: Owner,
    /// All labels of a slice.
    pub labels: BTreeMap<String, String>,
    /// Labels that never cause a write when they differ; any write sets them right.
    pub quiet_labels: &'static [&'static str],
    /// What happens to annotations.
    pub annotations: Annotations,
    /// Whose slices may be updated.
    pub ownership: Ownership,
    /// What an update sends.
    pub update: UpdateBody,
}

/// What happens to the annotations of slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotations {
    /// Only the trigger time is ours: a write sets it, or removes it if there is none. Others stay, and none of them
    /// ever causes a write.
    TriggerTime(Option<String>),
    /// Exactly these; a difference causes a write.
    Exactly(BTreeMap<String, String>),
}

/// Whose slices may be updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Only those with an owner reference to the owner's uid. Others are deleted: they belong to an older object of the
    /// same name, and the garbage collector may be removing them.
    Enforced,
    /// All. One whose owner reference names an older object of the same kind and name is rewritten.
    Adopted,
}

/// What an update of a slice sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateBody {
    /// The slice as it was read, with what has changed. It carries the resourceVersion, so that it meets a conflict if
    /// somebody else was there first; finalizers, other owners and unknown annotations stay.
    Changed,
    /// A new slice under the old name, without a resourceVersion: whatever is there is replaced.
    Replaced,
}

impl Annotations {
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

/// An owner of slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The owner's API version, such as `v1`.
    pub api_version: Cow<'static, str>,
    /// The owner's kind, such as `Service`.
    pub kind: Cow<'static, str>,
    /// The owner's name; names of slices begin with it.
    pub name: String,
    /// The owner's uid.
    pub uid: String,
    /// True if the owner is being deleted: no slices are created any more, because garbage collection might already
    /// be removing them (`reconciler.go` `finalize`).
    pub deleting: bool,
}

impl SliceTemplate {
    /// The template for slices of a Service.
    ///
    /// Labels of the Service are carried over, except the three that slices use themselves, which are set here
    /// (`utils.go` `setEndpointSliceLabels`). `managed_by` names the controller, such as
    /// [`ENDPOINTSLICE_CONTROLLER`](crate::well_known::ENDPOINTSLICE_CONTROLLER).
    pub fn for_service(service: &Service, managed_by: &str, trigger_time: Option<String>) -> Self {
        const RESERVED: &[&str] = &[SERVICE_NAME, MANAGED_BY, HEADLESS];
        let carried = service.labels.iter().filter(|(key, _)| !RESERVED.contains(&&***key));
        let mut labels: BTreeMap<String, String> =
            carried.map(|(key, value)| (key.as_ref().to_owned(), value.as_ref().to_owned())).collect();
        if service.is_headless() || service.cluster_ip.is_empty() {
            labels.insert(HEADLESS.to_owned(), String::new());
        }
        labels.insert(SERVICE_NAME.to_owned(), service.name.to_string());
        labels.insert(MANAGED_BY.to_owned(), managed_by.to_owned());
        Self {
            namespace: service.namespace.to_string(),
            owner: Owner {
                api_version: "v1".into(),
                kind: "Service".into(),
                name: service.name.to_string(),
                uid: service.uid.to_string(),
                deleting: service.deleting,
            },
            labels,
            quiet_labels: RESERVED,
            annotations: Annotations::TriggerTime(trigger_time),
            ownership: Ownership::Enforced,
            update: UpdateBody::Changed,
        }
    }

    /// The template for slices that mirror an Endpoints object.
    ///
    /// Its labels and annotations are carried over, except the two labels that slices use themselves and the two
    /// annotations that describe the Endpoints object alone (`endpointslicemirroring/utils.go` `newEndpointSlice`,
    /// `cloneAndRemoveKeys`).
    pub fn for_endpoints(endpoints: &Endpoints, managed_by: &str) -> Self {
        const RESERVED: &[&str] = &[SERVICE_NAME, MANAGED_BY];
        const EXCLUDED: [&str; 2] = [LAST_CHANGE_TRIGGER_TIME, LAST_APPLIED_CONFIGURATION];
        let metadata = &endpoints.metadata;
        let name = metadata.name.clone().unwrap_or_default();
        let mut labels = metadata.labels.clone().unwrap_or_default();
        labels.insert(SERVICE_NAME.to_owned(), name.clone());
        labels.insert(MANAGED_BY.to_owned(), managed_by.to_owned());
        let mut annotations = metadata.annotations.clone().unwrap_or_default();
        annotations.retain(|key, _| !EXCLUDED.contains(&key.as_str()));
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            owner: Owner {
                api_version: "v1".into(),
                kind: "Endpoints".into(),
                name,
                uid: metadata.uid.clone().unwrap_or_default(),
                deleting: metadata.deletion_timestamp.is_some(),
            },
            labels,
            quiet_labels: RESERVED,
            annotations: Annotations::Exactly(annotations),
            ownership: Ownership::Adopted,
            update: UpdateBody::Replaced,
        }
    }

    /// A new slice without endpoints. The API server completes the name.
    pub(crate) fn new_slice(&self, address_type: AddressType, ports: PortSet) -> EndpointSlice {
        EndpointSlice {
            metadata: self.new_metadata(),
            address_type: address_type.as_str().to_owned(),
            ports: Some(ports.into_vec()),
            endpoints: Some(Vec::new()),
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
            namespace: Some(self.namespace.clone()),
            labels: Some(self.labels.clone()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        }
    }

    /// True if `slice` may be updated or get other content.
    pub(crate) fn accepts(&self, slice: &EndpointSlice) -> bool {
        self.ownership == Ownership::Adopted || self.owns(slice)
    }

    /// True if `slice` must be written for its labels, its annotations or its owner.
    pub(crate) fn metadata_differs(&self, slice: &EndpointSlice) -> bool {
        self.labels_differ(slice) || self.annotations.differ(slice) || self.has_stale_owner(slice)
    }

    /// True if `slice` names an older object of the owner's kind and name (`endpointslicemirroring/reconciler_helpers.go`
    /// `needRebuildExistingSlices`).
    fn has_stale_owner(&self, slice: &EndpointSlice) -> bool {
        self.ownership == Ownership::Adopted
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

    /// True if the labels of `slice` ask for a write.
    fn labels_differ(&self, slice: &EndpointSlice) -> bool {
        let loud = |(key, _): &(&String, &String)| !self.quiet_labels.contains(&key.as_str());
        let present = slice.metadata.labels.iter().flatten().filter(loud);
        !self.labels.iter().filter(loud).eq(present)
    }

    /// True if `slice` is already the placeholder this template would create: right type, no ports, no endpoints,
    /// same namespace and labels. A label with an empty value counts as absent (`utils.go`
    /// `placeholderSliceCompare`).
    pub(crate) fn is_placeholder(&self, slice: &EndpointSlice, address_type: AddressType) -> bool {
        let set = |(_, value): &(&String, &String)| !value.is_empty();
        let present = slice.metadata.labels.iter().flatten().filter(set);
        slice.address_type == address_type.as_str()
            && slice.ports.iter().all(Vec::is_empty)
            && slice.endpoints.iter().all(Vec::is_empty)
            && slice.metadata.namespace.as_deref() == Some(&self.namespace)
            && self.labels.iter().filter(set).eq(present)
    }

    /// Completes the metadata of a slice that is about to be written.
    pub(crate) fn stamp(&self, slice: &mut EndpointSlice) {
        if self.update == UpdateBody::Replaced && slice.metadata.name.is_some() {
            let name = slice.metadata.name.take();
            slice.metadata = ObjectMeta { name, generate_name: None, ..self.new_metadata() };
        }
        if slice.metadata.labels.as_ref() != Some(&self.labels) {
            slice.metadata.labels = Some(self.labels.clone());
        }
        self.annotations.set(&mut slice.metadata.annotations);
    }
}
