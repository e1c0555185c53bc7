//! Services that belong to another controller.

use std::sync::Arc;

use super::nodes::NoIndex;
use super::store::{Cached, Change, Store};
use super::{CachedKind, Handler, ObjectKey, State};
use controller_kit::queue::Lane;

/// A Service with the label `service.kubernetes.io/endpoint-controller-name`: its name, and whether it has a selector.
///
/// It is not among [`State::services`], so that no change of a pod leads to it. That it exists is known for one purpose:
/// a Service that leaves our view without being here was deleted, and the garbage collector removes its slices; of one
/// that is here, we have to remove ours. (The event is the same for both: `DELETED`, with the object as it was last
/// seen.) The label's
/// value, or any other change, is no change here.
#[derive(Debug)]
pub struct DelegatedService {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// Whether it selects pods. The Endpoints of one that doesn't are its users'.
    pub has_selector: bool,
}

impl Cached for DelegatedService {
    type Index = NoIndex;
    const KIND: &'static str = "Service";

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn key(&self) -> ObjectKey {
        ObjectKey { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.has_selector == other.has_selector
    }
}

impl CachedKind for DelegatedService {
    fn store(state: &State) -> &Store<Self> {
        &state.delegated
    }

    fn store_mut(state: &mut State) -> &mut Store<Self> {
        &mut state.delegated
    }

    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, lane: Lane) {
        handler.delegated(change, state, lane);
    }
}

impl State {
    /// True if this Service is in no view of ours and belongs to another controller.
    ///
    /// The two views are not of one moment: a Service that is in both has just changed hands, and until the other view
    /// says so too it counts as ours. So does one in our view that could not be read.
    pub fn is_delegated(&self, key: &ObjectKey) -> bool {
        self.services.get(&key.namespace, &key.name).is_none()
            && !self.services.unreadable().is_named(&key.namespace, &key.name)
            && self.delegated.get(&key.namespace, &key.name).is_some()
    }
}
