//! The content of the cache as readers see it, and the handlers of its changes.

use endpointslice::{Node, Pod, Service};

use crate::custom::CustomChange;
use crate::custom::tables::CustomTables;
use crate::disruption::Disruption;
use crate::kinds::{CachedEndpoints, CachedSlice, DelegatedService};
use crate::resource::{Change, Resource};
use crate::store::Store;

/// Everything that is cached, at one moment.
#[derive(Default)]
pub struct State {
    /// Pods, indexed by label and by node; those that the selectors of their
    /// [list-watch](crate::list_watch::ListWatch) select.
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
    /// The objects of kinds of other crates.
    pub(crate) custom: CustomTables,
    /// The decision about the readiness of pods while kubelets are lost; `None` if the feature gate is off.
    pub(crate) disruption: Option<Box<Disruption>>,
}

impl State {
    /// Tells the decision about disruptions, if there is one, that an object was removed.
    pub(crate) fn note_removed<T: CachedResource>(&mut self, removed: &Change<T>, now: i64) {
        removed.latest().removed(self, now);
    }
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
/// together are applied together, up to 128 of them.
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
    /// An object of a [`CustomResource`](crate::custom::CustomResource) changed.
    fn custom(&self, _change: CustomChange<'_>, _state: &State, _is_initial_list: bool) {}
    /// A list of EndpointSlices begins or is complete.
    fn slices_listed(&self, _phase: ListPhase, _state: &State) {}
    /// A list of Endpoints begins or is complete.
    fn endpoints_listed(&self, _phase: ListPhase, _state: &State) {}
}

/// A kind that has a table in [`State`] and a method in [`Handler`].
///
/// Apart from [`Resource`], so that the kinds know nothing of what is made of them.
pub trait CachedResource: Resource {
    /// The table of this kind.
    fn table(state: &State) -> &Store<Self>;

    /// The table of this kind, mutable.
    fn table_mut(state: &mut State) -> &mut Store<Self>;

    /// Decides what the conditions of a new state count as, before it is added to the table.
    fn assess(&mut self, _state: &mut State, _now: i64) {}

    /// Learns that the object was removed from the table.
    fn removed(&self, _state: &mut State, _now: i64) {}

    /// Delivers a change to the handler's method for this kind.
    fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, is_initial_list: bool);

    /// Reports the phase of a list of this kind to the handler, for kinds that have such a method.
    fn notify_list(_handler: &dyn Handler, _phase: ListPhase, _state: &State) {}
}

/// The table of a kind in [`State`], and its method of [`Handler`].
macro_rules! in_table {
    ($table:ident, $method:ident) => {
        fn table(state: &State) -> &Store<Self> {
            &state.$table
        }

        fn table_mut(state: &mut State) -> &mut Store<Self> {
            &mut state.$table
        }

        fn notify(handler: &dyn Handler, change: &Change<Self>, state: &State, is_initial_list: bool) {
            handler.$method(change, state, is_initial_list);
        }
    };
}

impl CachedResource for Pod {
    in_table!(pods, pod);

    fn assess(&mut self, state: &mut State, now: i64) {
        if let Some(disruption) = &mut state.disruption {
            self.ready = disruption.counts_pod_as_ready(self, now);
        }
    }
}

impl CachedResource for Service {
    in_table!(services, service);
}

impl CachedResource for DelegatedService {
    in_table!(delegated, delegated);
}

impl CachedResource for Node {
    in_table!(nodes, node);

    fn assess(&mut self, state: &mut State, now: i64) {
        if let Some(disruption) = &mut state.disruption {
            disruption.observe(self, now);
            self.ready = disruption.counts_node_as_ready(self, now);
        }
    }

    fn removed(&self, state: &mut State, now: i64) {
        if let Some(disruption) = &mut state.disruption {
            disruption.forget(self, now);
        }
    }
}

impl CachedResource for CachedSlice {
    in_table!(slices, slice);

    fn notify_list(handler: &dyn Handler, phase: ListPhase, state: &State) {
        handler.slices_listed(phase, state);
    }
}

impl CachedResource for CachedEndpoints {
    in_table!(endpoints, endpoints);

    fn notify_list(handler: &dyn Handler, phase: ListPhase, state: &State) {
        handler.endpoints_listed(phase, state);
    }
}
