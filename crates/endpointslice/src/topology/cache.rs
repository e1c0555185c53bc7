//! Which Services have topology hints, and whom a change of nodes concerns.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::TopologyEvent;
use super::outcome::{TopologyOutcome, ZoneCounts};
use super::shares::{NodeTotals, ZoneShares};
use crate::address::AddressType;
use crate::hints::Hints;
use crate::node::Node;
use crate::plan::{AddressTypePlan, SlicePlan};
use crate::service::Service;

/// Namespace and name of a Service.
pub type ServiceKey = (Arc<str>, Arc<str>);

/// What a controller has to remember between syncs for topology hints (`topologycache.go` `TopologyCache`).
///
/// A plain value: whoever shares it between tasks locks it, and no call takes longer than a look at every node or
/// every Service with the annotation.
///
/// 1. [`Self::set_nodes`] before the first sync, and [`Self::node_changed`] whenever a node changes; if the shares changed,
///    sync the [`Self::due_services`], once for many changes;
/// 2. in a sync, [`Hints::for_service`] takes the shares along into the [`Rules`](crate::Rules);
/// 3. [`Self::record`] what the plan came to; it returns the events to emit once the plan is applied.
///
/// Memory: an entry for each Service with the annotation, with a number for each zone.
#[derive(Debug, Default)]
pub struct TopologyCache {
    nodes: NodeTotals,
    shares: Arc<ZoneShares>,
    services: BTreeMap<ServiceKey, ServiceState>,
}

#[derive(Debug, Default)]
struct ServiceState {
    /// True while the user believes that there are hints. Of the Service, not of an address type: a failure of either
    /// clears it, as upstream's does.
    hinted: bool,
    types: BTreeMap<AddressType, TypeState>,
}

#[derive(Debug)]
enum TypeState {
    Hinted(ZoneCounts),
    /// Other nodes could make hints possible for so many endpoints.
    Waiting {
        endpoints: usize,
    },
}

/// What follows from recording a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Recorded {
    /// The events about the Service, to be emitted after the plan is applied, also if that failed.
    pub events: Vec<TopologyEvent>,
    /// True if the plan was made for nodes that have changed since in a way that concerns it: sync again.
    pub sync_again: bool,
}

impl TopologyCache {
    /// Takes in all nodes of the cluster. True if that changes the shares of the zones; then the
    /// [`Self::due_services`] should be synced.
    pub fn set_nodes<'a>(&mut self, nodes: impl IntoIterator<Item = &'a Node>) -> bool {
        self.nodes = NodeTotals::of(nodes);
        self.update_shares()
    }

    /// Takes in that a node is new, has changed or is gone: what it was among those taken in so far, and what it is. True if
    /// that changes the shares, as for [`Self::set_nodes`].
    ///
    /// Cost: a look at each zone, whatever the number of nodes.
    pub fn node_changed(&mut self, before: Option<&Node>, now: Option<&Node>) -> bool {
        if let Some(node) = before {
            self.nodes.remove(node);
        }
        if let Some(node) = now {
            self.nodes.add(node);
        }
        self.update_shares()
    }

    fn update_shares(&mut self) -> bool {
        let shares = self.nodes.shares();
        let changed = shares != *self.shares;
        if changed {
            self.shares = Arc::new(shares);
        }
        changed
    }

    /// The present shares of the zones.
    pub fn shares(&self) -> &Arc<ZoneShares> {
        &self.shares
    }

    /// Services whose hints should be computed again under the present shares, by name.
    ///
    /// Those with hints that overload a zone (`topologycache.go` `GetOverloadedServices`), and those without hints
    /// that could have some now.
    pub fn due_services(&self) -> impl Iterator<Item = &ServiceKey> {
        self.services.iter().filter(|(_, service)| service.is_due(&self.shares)).map(|(key, _)| key)
    }

    /// Records what a plan comes to, whether or not it can be applied.
    ///
    /// `hints` are those the plan was made with. Events are upstream's: one for every failure, one when hints appear
    /// for the first time (also after a restart), one when they are no longer asked for.
    pub fn record(&mut self, service: &Service, hints: &Hints, plan: &SlicePlan) -> Recorded {
        let key = (Arc::clone(&service.namespace), Arc::clone(&service.name));
        let mut state = self.services.remove(&key).unwrap_or_default();
        state.keep_types(&plan.types);
        let events = plan.types.iter().filter_map(|plan| state.record(plan)).collect();
        let out_of_date = matches!(hints, Hints::Topology(used) if *used != self.shares);
        let sync_again = out_of_date && state.is_due(&self.shares);
        if !state.types.is_empty() {
            self.services.insert(key, state);
        }
        Recorded { events, sync_again }
    }

    /// Forgets a Service that is gone. Upstream never does.
    pub fn forget(&mut self, namespace: &str, name: &str) {
        self.services.remove(&(namespace.into(), name.into()));
    }
}

#[cfg(test)]
impl TopologyCache {
    /// The endpoints of a Service that each zone was given when its plan was last recorded.
    pub(super) fn counts(
        &self,
        namespace: &str,
        name: &str,
        address_type: AddressType,
    ) -> Option<&ZoneCounts> {
        match self.services.get(&(namespace.into(), name.into()))?.types.get(&address_type)? {
            TypeState::Hinted(counts) => Some(counts),
            TypeState::Waiting { .. } => None,
        }
    }

    /// True if no Service is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.services.is_empty()
    }
}

impl ServiceState {
    /// Drops what is known about address types that the Service no longer has.
    fn keep_types(&mut self, plans: &[AddressTypePlan]) {
        let known = self.types.len();
        self.types.retain(|address_type, _| plans.iter().any(|plan| plan.address_type == *address_type));
        self.hinted &= self.types.len() == known;
    }

    fn record(&mut self, plan: &AddressTypePlan) -> Option<TopologyEvent> {
        let address_type = plan.address_type;
        let was_hinted = std::mem::replace(&mut self.hinted, matches!(plan.topology, Some(Ok(_))));
        match TypeState::after(plan.topology.as_ref()) {
            Some(state) => self.types.insert(address_type, state),
            None => self.types.remove(&address_type),
        };
        match &plan.topology {
            Some(Ok(_)) => (!was_hinted).then(|| TopologyEvent::enabled(address_type)),
            Some(Err(no_hints)) => Some(TopologyEvent::disabled(no_hints, address_type)),
            None => was_hinted.then(|| TopologyEvent::turned_off(address_type)),
        }
    }

    fn is_due(&self, shares: &ZoneShares) -> bool {
        self.types.values().any(|state| match state {
            TypeState::Hinted(counts) => shares.overload(counts),
            TypeState::Waiting { endpoints } => shares.allocate(*endpoints).is_ok(),
        })
    }
}

impl TypeState {
    /// What is worth remembering of an outcome.
    fn after(outcome: Option<&TopologyOutcome>) -> Option<Self> {
        match outcome? {
            Ok(counts) => Some(Self::Hinted(counts.clone())),
            Err(no_hints) if no_hints.is_for_lack_of_capacity() => {
                Some(Self::Waiting { endpoints: no_hints.endpoints })
            }
            Err(_) => None,
        }
    }
}
