//! Nodes.

use std::sync::Arc;

use endpointslice::Node;

use super::store::{Cached, Change, Index, Store};
use super::{CachedKind, Handler, State};
use crate::queue::Lane;

impl Cached for Node {
    type Index = NoIndex;

    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// A Node's status is written every few minutes; almost none of it matters here.
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl CachedKind for Node {
    fn store(state: &mut State) -> &mut Store<Self> {
        &mut state.nodes
    }

    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, lane: Lane) {
        handler.node(change, state, lane);
    }
}

/// For kinds that are looked up by name only.
#[derive(Default)]
pub struct NoIndex;

impl<T> Index<T> for NoIndex {
    fn insert(&mut self, _object: &Arc<T>) {}
    fn remove(&mut self, _object: &Arc<T>) {}
    fn replace(&mut self, _old: &Arc<T>, _new: &Arc<T>) {}
}
