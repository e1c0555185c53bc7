//! What a slice of one owner looks like, apart from its endpoints.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::address::AddressType;
use crate::port_set::PortSet;
use crate::service::Service;
use crate::well_known::{HEADLESS, LAST_CHANGE_TRIGGER_TIME, MANAGED_BY, SERVICE_NAME};

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
    /// The value of the trigger-time annotation; `None` removes it from slices that are written.
    pub trigger_time: Option<String>,
}

/// An owner of slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The owner's API version, such as `v1`.
    pub api_version: &'static str,
    /// The owner's kind, such as `Service`.
    pub kind: &'static str,
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
                api_version: "v1",
                kind: "Service",
                name: service.name.to_string(),
                uid: service.uid.to_string(),
                deleting: service.deleting,
            },
            labels,
            quiet_labels: RESERVED,
            trigger_time,
        }
    }

    /// A new slice without endpoints. The API server completes the name.
    pub(crate) fn new_slice(&self, address_type: AddressType, ports: PortSet) -> EndpointSlice {
        let owner = OwnerReference {
            api_version: self.owner.api_version.to_owned(),
            kind: self.owner.kind.to_owned(),
            name: self.owner.name.clone(),
            uid: self.owner.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        };
        EndpointSlice {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}-", self.owner.name)),
                namespace: Some(self.namespace.clone()),
                labels: Some(self.labels.clone()),
                owner_references: Some(vec![owner]),
                ..ObjectMeta::default()
            },
            address_type: address_type.as_str().to_owned(),
            ports: Some(ports.into_vec()),
            endpoints: Some(Vec::new()),
        }
    }

    /// True if `slice` has an owner reference to this owner (`reconciler.go` `ownedBy`).
    pub(crate) fn owns(&self, slice: &EndpointSlice) -> bool {
        slice.metadata.owner_references.iter().flatten().any(|reference| {
            reference.uid == self.owner.uid
                && reference.kind == self.owner.kind
                && reference.api_version == self.owner.api_version
        })
    }

    /// True if the labels of `slice` ask for a write.
    pub(crate) fn labels_differ(&self, slice: &EndpointSlice) -> bool {
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

    /// Sets the labels and sets or removes the trigger time on a slice that is about to be written.
    pub(crate) fn stamp(&self, slice: &mut EndpointSlice) {
        if slice.metadata.labels.as_ref() != Some(&self.labels) {
            slice.metadata.labels = Some(self.labels.clone());
        }
        let annotations = &mut slice.metadata.annotations;
        if let Some(time) = &self.trigger_time {
            annotations.get_or_insert_default().insert(LAST_CHANGE_TRIGGER_TIME.to_owned(), time.clone());
        } else if let Some(present) = annotations {
            present.remove(LAST_CHANGE_TRIGGER_TIME);
            if present.is_empty() {
                *annotations = None;
            }
        }
    }
}
