//! EndpointSlices, as bytes.

use std::hash::BuildHasher;
use std::sync::Arc;

use endpointslice::expectations::ObjectVersion;
use endpointslice::model::{ResourceVersion, Uid};
use foldhash::quality::RandomState;
use hashbrown::HashMap;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::{DecodeError, Message};

use super::few::Few;
use super::store::{Cached, Change, Index, Store};
use super::{CachedKind, Handler, ListPhase, State, Writers};
use controller_kit::queue::Lane;

/// An EndpointSlice that is mostly only compared: its encoded form, and what it is looked up by.
///
/// The encoded form is a fraction of the decoded one and also keeps fields that this program doesn't know.
/// managedFields are left out, as upstream does, but for the managers that wrote last.
#[derive(Debug)]
pub struct CachedSlice {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Box<str>,
    /// The uid.
    pub uid: Uid,
    /// The resourceVersion.
    pub version: ResourceVersion,
    /// The generation, which counts changes of anything but annotations.
    pub generation: i64,
    /// The value of the label `kubernetes.io/service-name`, unless empty.
    pub service: Option<Arc<str>>,
    /// The value of the label `endpointslice.kubernetes.io/managed-by`, unless empty.
    pub managed_by: Option<Arc<str>>,
    /// True if it is being deleted.
    pub deleting: bool,
    /// Who wrote this version.
    pub writers: Writers,
    /// The protobuf form, without envelope.
    pub encoded: Box<[u8]>,
}

impl CachedSlice {
    /// Generation and resourceVersion.
    pub fn object_version(&self) -> ObjectVersion {
        ObjectVersion { generation: self.generation, resource_version: self.version }
    }

    /// The whole object. Cost: about a microsecond for each endpoint.
    pub fn decode(&self) -> Result<EndpointSlice, DecodeError> {
        EndpointSlice::decode(&self.encoded)
    }
}

impl Cached for CachedSlice {
    type Index = SliceIndex;
    const KIND: &'static str = "EndpointSlice";

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn is_same(&self, other: &Self) -> bool {
        self.version == other.version && self.uid == other.uid
    }
}

impl CachedKind for CachedSlice {
    fn store(state: &State) -> &Store<Self> {
        &state.slices
    }

    fn store_mut(state: &mut State) -> &mut Store<Self> {
        &mut state.slices
    }

    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, lane: Lane) {
        handler.slice(change, state, lane);
    }

    fn notify_list(handler: &dyn Handler, phase: ListPhase, state: &State) {
        handler.slices_listed(phase, state);
    }
}

/// Slices by namespace and Service.
#[derive(Default)]
pub struct SliceIndex {
    by_service: HashMap<(Arc<str>, Arc<str>), Few<Arc<CachedSlice>>, RandomState>,
    /// For the names of slices.
    names: RandomState,
}

impl Index<CachedSlice> for SliceIndex {
    fn insert(&mut self, slice: &Arc<CachedSlice>) {
        let Some(service) = &slice.service else { return };
        let key = (Arc::clone(&slice.namespace), Arc::clone(service));
        match self.by_service.get_mut(&key) {
            Some(slices) => {
                let names = &self.names;
                slices.insert_unique(Arc::clone(slice), |slice| names.hash_one(&*slice.name));
            }
            None => {
                self.by_service.insert(key, Few::One(Arc::clone(slice)));
            }
        }
    }

    fn remove(&mut self, slice: &Arc<CachedSlice>) {
        let Some(service) = &slice.service else { return };
        let key = (Arc::clone(&slice.namespace), Arc::clone(service));
        if let Some(slices) = self.by_service.get_mut(&key)
            && slices.remove(self.names.hash_one(&*slice.name), |other| other.name == slice.name)
        {
            self.by_service.remove(&key);
        }
    }
}

#[cfg(test)]
impl SliceIndex {
    pub(super) fn is_empty(&self) -> bool {
        self.by_service.is_empty()
    }
}

impl State {
    /// The slices labelled with this Service and this controller, those being deleted included, in no particular order.
    ///
    /// Cost: the slices of the Service.
    pub fn slices_of(
        &self,
        namespace: &Arc<str>,
        service: &Arc<str>,
        managed_by: &str,
    ) -> Vec<Arc<CachedSlice>> {
        let key = (Arc::clone(namespace), Arc::clone(service));
        let slices = self.slices.index().by_service.get(&key).into_iter().flat_map(Few::iter);
        slices.filter(|slice| slice.managed_by.as_deref() == Some(managed_by)).cloned().collect()
    }
}
