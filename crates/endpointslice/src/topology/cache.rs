//! Services with topology hints, and those that a change of nodes concerns.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::TopologyEvent;
use super::outcome::{TopologyOutcome, ZoneCounts};
use super::shares::{NodeTotals, ZoneShares};
use crate::model::{AddressType, Node, Service};

/// Namespace and name of a Service.
pub type ServiceKey = (Arc<str>, Arc<str>);

/// State that a controller keeps between syncs for topology hints (`topologycache.go` `TopologyCache`).
///
/// A plain value: a controller that shares it between tasks locks it. The cost of a call is at
/// most linear in the nodes or in the Services with the annotation.
///
/// 1. [`Self::set_nodes`] before the first sync, and [`Self::node_changed`] whenever a node changes; if the shares changed,
///    sync the [`Self::due_services`], once for many changes;
/// 2. in a sync, [`Hints::for_service`](crate::Hints::for_service) passes the shares to
///    [`PlanOptions`](crate::PlanOptions);
/// 3. [`Self::record`] the outcomes of the plan; it returns the events to emit once the plan is applied.
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
    /// True if the last event said that there are hints. Of the Service, not of an address type: a failure of either
    /// clears it, as upstream's does.
    hinted: bool,
    types: BTreeMap<AddressType, TypeState>,
}

#[derive(Debug)]
enum TypeState {
    Hinted(ZoneCounts),
    /// Other nodes could make hints possible for this number of endpoints.
    Waiting {
        endpoints: usize,
    },
}

/// Consequences of a recorded plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Recorded {
    /// The events about the Service, to be emitted after the plan is applied, also if that failed.
    pub events: Vec<TopologyEvent>,
    /// True if the plan was made for nodes that have changed since in a way that concerns it: sync again.
    pub sync_again: bool,
}

impl TopologyCache {
    /// Replaces the nodes by all nodes of the cluster. True if that changes the shares of the zones; then the
    /// [`Self::due_services`] should be synced.
    pub fn set_nodes<'a>(&mut self, nodes: impl IntoIterator<Item = &'a Node>) -> bool {
        self.nodes = NodeTotals::of(nodes);
        self.update_shares()
    }

    /// Replaces one node: `before` as it was given last, `now` as it is; none if it is new or deleted. True if that
    /// changes the shares, as for [`Self::set_nodes`].
    ///
    /// Cost: linear in zones, independent of the number of nodes.
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

    /// Services whose hints should be computed again under the present shares, by name: those with hints that overload a
    /// zone (`topologycache.go` `GetOverloadedServices`), and those without hints that could have some now.
    pub fn due_services(&self) -> impl Iterator<Item = &ServiceKey> {
        self.services.iter().filter(|(_, service)| service.is_due(&self.shares)).map(|(key, _)| key)
    }

    /// Records the outcomes of a plan, whether or not it can be applied.
    ///
    /// `used` are the shares the plan was made with ([`Hints::zone_shares`](crate::Hints::zone_shares)), and `outcomes`
    /// those of each address type ([`SlicePlan::topology_outcomes`](crate::SlicePlan::topology_outcomes)). Events are
    /// upstream's: one for every failure, one when hints appear for the first time (also after a restart), one when they
    /// are no longer requested.
    pub fn record<'a>(
        &mut self,
        service: &Service,
        used: Option<&ZoneShares>,
        outcomes: impl Iterator<Item = (AddressType, Option<&'a TopologyOutcome>)> + Clone,
    ) -> Recorded {
        let key = (Arc::clone(&service.namespace), Arc::clone(&service.name));
        let mut state = self.services.remove(&key).unwrap_or_default();
        state.keep_types(&outcomes.clone().map(|(address_type, _)| address_type));
        let events =
            outcomes.filter_map(|(address_type, outcome)| state.record(address_type, outcome)).collect();
        let out_of_date = used.is_some_and(|used| *used != *self.shares);
        let sync_again = out_of_date && state.is_due(&self.shares);
        if !state.types.is_empty() {
            self.services.insert(key, state);
        }
        Recorded { events, sync_again }
    }

    /// The Services that are remembered.
    pub fn services(&self) -> impl Iterator<Item = &ServiceKey> {
        self.services.keys()
    }

    /// Forgets a Service that was deleted. Upstream never does.
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
    /// Drops the state of address types that the Service no longer has.
    fn keep_types(&mut self, planned: &(impl Iterator<Item = AddressType> + Clone)) {
        let known = self.types.len();
        self.types.retain(|address_type, _| planned.clone().any(|planned| planned == *address_type));
        self.hinted &= self.types.len() == known;
    }

    fn record(
        &mut self,
        address_type: AddressType,
        outcome: Option<&TopologyOutcome>,
    ) -> Option<TopologyEvent> {
        let was_hinted = std::mem::replace(&mut self.hinted, matches!(outcome, Some(Ok(_))));
        match TypeState::after(outcome) {
            Some(state) => self.types.insert(address_type, state),
            None => self.types.remove(&address_type),
        };
        match outcome {
            Some(Ok(_)) => (!was_hinted).then_some(TopologyEvent::Enabled(address_type)),
            Some(Err(no_hints)) => Some(TopologyEvent::Disabled(address_type, no_hints.clone())),
            None => was_hinted.then_some(TopologyEvent::TurnedOff(address_type)),
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
    /// The state to remember of an outcome, if any.
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
