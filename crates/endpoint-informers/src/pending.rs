//! Writes that a sync would make, for those who want to know them before, or instead of, the sync.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::write::Verb;
use endpointslice::SlicePlan;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// An object that controllers write.
#[derive(Clone, Debug, PartialEq)]
pub enum WrittenObject {
    /// An EndpointSlice.
    EndpointSlice(Box<EndpointSlice>),
    /// An Endpoints object.
    Endpoints(Box<Endpoints>),
}

impl WrittenObject {
    /// The object as JSON, with `apiVersion` and `kind`.
    ///
    /// Cost: a copy of the object.
    fn to_json(&self) -> Value {
        let json = match self {
            Self::EndpointSlice(slice) => serde_json::to_value(slice),
            Self::Endpoints(endpoints) => serde_json::to_value(endpoints),
        };
        json.unwrap_or_default()
    }

    fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::EndpointSlice(slice) => &slice.metadata,
            Self::Endpoints(endpoints) => &endpoints.metadata,
        }
    }
}

impl From<EndpointSlice> for WrittenObject {
    fn from(slice: EndpointSlice) -> Self {
        Self::EndpointSlice(Box::new(slice))
    }
}

impl From<Endpoints> for WrittenObject {
    fn from(endpoints: Endpoints) -> Self {
        Self::Endpoints(Box::new(endpoints))
    }
}

/// A write that a sync would make.
#[derive(Clone, Debug, PartialEq)]
pub enum PendingWrite {
    /// A create.
    Create(WrittenObject),
    /// An update of the first object to the second.
    Update(WrittenObject, WrittenObject),
    /// A deletion.
    Delete(WrittenObject),
}

impl PendingWrite {
    /// The kind of write.
    fn verb(&self) -> Verb {
        match self {
            Self::Create(_) => Verb::Create,
            Self::Update(..) => Verb::Update,
            Self::Delete(_) => Verb::Delete,
        }
    }

    /// The object: as it is stored, or for a create as it would be.
    fn object(&self) -> &WrittenObject {
        match self {
            Self::Create(object) | Self::Update(object, _) | Self::Delete(object) => object,
        }
    }

    /// The kind of the object.
    pub fn kind(&self) -> &'static str {
        match self.object() {
            WrittenObject::EndpointSlice(_) => "EndpointSlice",
            WrittenObject::Endpoints(_) => "Endpoints",
        }
    }

    /// The object before and after the write, as JSON with `apiVersion` and `kind`.
    ///
    /// Cost: a copy of each.
    pub fn sides(&self) -> (Option<Value>, Option<Value>) {
        match self {
            Self::Create(new) => (None, Some(new.to_json())),
            Self::Update(old, new) => (Some(old.to_json()), Some(new.to_json())),
            Self::Delete(old) => (Some(old.to_json()), None),
        }
    }

    /// The name of the object; of a create whose name the API server completes, the prefix.
    pub fn name(&self) -> &str {
        let ObjectMeta { name, generate_name, .. } = self.object().metadata();
        name.as_deref().or(generate_name.as_deref()).unwrap_or_default()
    }
}

impl fmt::Display for PendingWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verb(), self.kind(), self.name())
    }
}

/// The writes of a plan. `existing` are the slices that it was made for.
///
/// Cost: linear in the existing slices, and a copy of each that would be updated.
pub fn pending_slices(plan: SlicePlan, existing: &[EndpointSlice]) -> Vec<PendingWrite> {
    let SlicePlan { types, delete_if_unchanged } = plan;
    let named: HashMap<_, _> = existing.iter().map(|stored| (&stored.metadata.name, stored)).collect();
    let mut pending = Vec::new();
    for plan in types {
        let creates = if plan.creates_suppressed { Vec::new() } else { plan.create };
        pending.extend(creates.into_iter().map(|slice| PendingWrite::Create(slice.into())));
        pending.extend(plan.update.into_iter().filter_map(|slice| {
            let &stored = named.get(&slice.metadata.name)?;
            Some(PendingWrite::Update(stored.clone().into(), slice.into()))
        }));
        pending.extend(plan.delete.into_iter().map(|slice| PendingWrite::Delete(slice.into())));
    }
    pending.extend(delete_if_unchanged.into_iter().map(|slice| PendingWrite::Delete(slice.into())));
    pending
}

/// The decision of a [`WritePolicy`] about a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Sync now.
    Sync,
    /// Leave this key until it is queued again.
    Skip,
    /// Ask again after this time, or when the key is queued again.
    After(Duration),
}

/// A policy that looks at the writes of each sync before it, and decides whether it may write: `shadow` allows none.
pub trait WritePolicy: Send + Sync + 'static {
    /// Decides about the sync of `key`. `pending` returns the writes that the sync would make, or `None` if that is not
    /// known, because the cache is stale or an object in it can't be decoded; its cost is that of planning all of the
    /// Service.
    ///
    /// One key is never asked about twice at the same time.
    fn decide(&self, key: &ObjectKey, pending: &dyn Fn() -> Option<Vec<PendingWrite>>) -> Decision;
}
