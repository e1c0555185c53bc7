//! Endpoints, as bytes.

use std::sync::Arc;

use endpointslice::model::ResourceVersion;
use k8s_openapi::api::core::v1::Endpoints;
use kube_protobuf::{DecodeError, Message};

use super::nodes::NoIndex;
use super::store::{Cached, Change, Store};
use super::{CachedKind, Handler, ListPhase, ObjectKey, State, Writers};
use controller_kit::queue::Lane;

/// An Endpoints object that is mostly only compared: its encoded form, as for [`CachedSlice`](super::CachedSlice).
#[derive(Debug, PartialEq, Eq)]
pub struct CachedEndpoints {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name, which is the Service's.
    pub name: Box<str>,
    /// The uid.
    pub uid: Box<str>,
    /// The resourceVersion.
    pub version: ResourceVersion,
    /// Who wrote this version.
    pub writers: Writers,
    /// The protobuf form, without envelope.
    pub encoded: Box<[u8]>,
}

impl CachedEndpoints {
    /// The whole object. Cost: about a microsecond for each address.
    pub fn decode(&self) -> Result<Endpoints, DecodeError> {
        Endpoints::decode(&self.encoded)
    }
}

impl Cached for CachedEndpoints {
    type Index = NoIndex;
    const KIND: &'static str = "Endpoints";

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn key(&self) -> ObjectKey {
        ObjectKey { namespace: Arc::clone(&self.namespace), name: Arc::from(&*self.name) }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.version == other.version && self.uid == other.uid
    }
}

impl CachedKind for CachedEndpoints {
    fn store(state: &State) -> &Store<Self> {
        &state.endpoints
    }

    fn store_mut(state: &mut State) -> &mut Store<Self> {
        &mut state.endpoints
    }

    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, lane: Lane) {
        handler.endpoints(change, state, lane);
    }

    fn notify_list(handler: &dyn Handler, phase: ListPhase, state: &State) {
        handler.endpoints_listed(phase, state);
    }
}
