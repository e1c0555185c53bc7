//! Repairs as data: one write to one object of the controllers, in the version that was looked at.

use std::fmt;

use endpointslice::well_known::{
    ENDPOINTS_MANAGED_BY, ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER,
    LAST_CHANGE_TRIGGER_TIME, MANAGED_BY,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use super::object::ObjectRef;
use crate::metadata::label;

/// A write that ends a finding. It is refused by the API server if the object has changed since, by its uid and
/// resourceVersion.
///
/// There are repairs only of objects that the controllers own by label, deletions of Endpoints without a Service that some
/// controller owns by label, and touches of any slice, which leave its content: `of_slice`, `of_a_lost_service` and `touch` are
/// the only ways to make one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Repair {
    /// The object to write.
    pub object: ObjectRef,
    /// The uid that the object must have.
    pub uid: String,
    /// The resourceVersion that the object must have.
    pub resource_version: String,
    /// The object whose absence is the reason for the write; it is to be asked for once more before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unless_exists: Option<ObjectRef>,
    /// The write.
    pub action: Action,
}

/// The write of a repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Action {
    /// Deletes the object.
    Delete,
    /// Sets a label.
    SetLabel {
        /// Its key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// Removes a label.
    RemoveLabel {
        /// Its key.
        key: &'static str,
    },
    /// Sets an annotation.
    SetAnnotation {
        /// Its key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// Adds an owner reference of `v1`, as controllers set it.
    AddOwner {
        /// The kind of the owner.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
    },
}

impl Repair {
    /// A write to this slice; none if it has another manager than the two controllers, or was not read from a cluster.
    pub(super) fn of_slice(slice: &EndpointSlice, action: Action) -> Option<Self> {
        let manager = label(&slice.metadata, MANAGED_BY)?;
        let is_ours = [ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER].contains(&manager);
        Self::new(ObjectRef::slice(slice), &slice.metadata, action).filter(|_| is_ours)
    }

    /// The deletion of Endpoints whose Service does not exist; none without a controller's label, whichever it is, or if they
    /// were not read from a cluster.
    pub(super) fn of_a_lost_service(endpoints: &Endpoints) -> Option<Self> {
        label(&endpoints.metadata, ENDPOINTS_MANAGED_BY).filter(|manager| !manager.is_empty())?;
        Self::new(ObjectRef::endpoints(endpoints), &endpoints.metadata, Action::Delete)
    }

    /// A write that changes nothing of a slice but the time of its last change, for the event that consumers get; none if it
    /// was not read from a cluster. The controllers of Kubernetes set that annotation, or remove it, whenever they write a slice for
    /// another reason, so no key of ours is needed; on slices of others it stays.
    pub(super) fn touch(slice: &EndpointSlice, now: Timestamp) -> Option<Self> {
        let action = Action::SetAnnotation { key: LAST_CHANGE_TRIGGER_TIME, value: now.to_string() };
        Self::new(ObjectRef::slice(slice), &slice.metadata, action)
    }

    fn new(object: ObjectRef, metadata: &ObjectMeta, action: Action) -> Option<Self> {
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let (uid, resource_version) = (given(&metadata.uid)?, given(&metadata.resource_version)?);
        Some(Self { object, uid, resource_version, unless_exists: None, action })
    }

    /// The same, unless this object exists after all: it may be new, or one that could not be decoded.
    #[must_use]
    pub(super) fn unless(mut self, exists: ObjectRef) -> Self {
        self.unless_exists = Some(exists);
        self
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = &self.object;
        match &self.action {
            Action::Delete => write!(f, "delete {object}"),
            Action::SetLabel { key, value } => write!(f, "set the label {key}={value} of {object}"),
            Action::RemoveLabel { key } => write!(f, "remove the label {key} of {object}"),
            Action::SetAnnotation { key, value } => {
                write!(f, "set the annotation {key}={value} of {object}")
            }
            Action::AddOwner { kind, name, uid } => {
                write!(f, "add the owner {kind} {name} (uid {uid}) to {object}")
            }
        }
    }
}
