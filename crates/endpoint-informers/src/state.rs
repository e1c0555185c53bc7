//! The content of the cache as readers see it, and the handlers that are told of its changes.

use endpointslice::{Node, Pod, Service};

use crate::kinds::{CachedEndpoints, CachedSlice, DelegatedService};
use crate::resource::Change;
use crate::store::Store;

/// Everything that is cached, at one moment. Queries over it are in [`kinds`](crate::kinds).
#[derive(Default)]
pub struct State {
    /// Pods, indexed by label and by node.
    pub pods: Store<Pod>,
    /// Services, indexed by selector.
    pub services: Store<Service>,
    /// Services of other controllers, if they are watched; these are not among [`Self::services`].
    pub delegated: Store<DelegatedService>,
    /// Nodes.
    pub nodes: Store<Node>,
    /// EndpointSlices of every controller, indexed by their Service.
    pub slices: Store<CachedSlice>,
    /// Endpoints.
    pub endpoints: Store<CachedEndpoints>,
}

/// The phase of a list of one kind.
///
/// Lists are consistent: a list holds everything that the API server acknowledged before the list was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPhase {
    /// The list is about to be requested. A list that breaks off is not reported; another one begins after it.
    Begins,
    /// The cache shows the whole list, and handlers have seen every change that it brought.
    Complete {
        /// The resourceVersion of the list is lower than one that the cache had seen: the API server has been restored
        /// from a backup.
        went_back: bool,
    },
}

/// A receiver of changes.
///
/// Handlers are called in the order of the changes, with the cache locked for reading: a handler adds keys to its work
/// queue and returns. The cache shows the change, or a later state of the same object, because changes that arrive
/// together are applied together, up to [`BATCH_SIZE`](crate::cache::BATCH_SIZE) of them.
///
/// `is_initial_list` is true for an object that a list brought, be it the first list or a relist, and false for a watch
/// event and for an object that a list did not show any more (client-go: `isInInitialList`).
pub trait Handler: Send + Sync {
    /// A Pod changed.
    fn pod(&self, _change: &Change<Pod>, _state: &State, _is_initial_list: bool) {}
    /// A Service changed.
    fn service(&self, _change: &Change<Service>, _state: &State, _is_initial_list: bool) {}
    /// A Service was delegated to another controller, or no longer is.
    fn delegated(&self, _change: &Change<DelegatedService>, _state: &State, _is_initial_list: bool) {}
    /// A Node changed.
    fn node(&self, _change: &Change<Node>, _state: &State, _is_initial_list: bool) {}
    /// An EndpointSlice changed.
    fn slice(&self, _change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {}
    /// An Endpoints object changed.
    fn endpoints(&self, _change: &Change<CachedEndpoints>, _state: &State, _is_initial_list: bool) {}
    /// A list of EndpointSlices begins or is complete.
    fn slices_listed(&self, _phase: ListPhase, _state: &State) {}
    /// A list of Endpoints begins or is complete.
    fn endpoints_listed(&self, _phase: ListPhase, _state: &State) {}
}
