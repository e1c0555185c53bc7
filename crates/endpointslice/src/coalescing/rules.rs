//! The changes of one endpoint that may wait.

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions};

use crate::model::Service;
use crate::plan::Hints;

/// The rules for the changes of one Service's endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// True if all changes are urgent.
    pub(super) all_urgent: bool,
    /// True if a terminating endpoint that serves may get traffic although another one is ready.
    serving_counts: bool,
}

/// A difference between the stored endpoints of a slice and the planned ones.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change<'a> {
    Added(&'a Endpoint),
    Updated(&'a Endpoint, &'a Endpoint),
    Removed(&'a Endpoint),
}

impl Rules {
    /// The rules for a Service whose endpoints get these hints.
    pub fn of(service: &Service, hints: &Hints) -> Self {
        let is_tcp = |protocol: &str| protocol == "TCP";
        Self {
            all_urgent: service.is_headless()
                || service.cluster_ip.is_empty()
                || service.publish_not_ready_addresses
                || service.deleting
                || matches!(hints, Hints::Topology(_) | Hints::Keep),
            serving_counts: service.has_local_policy
                || matches!(hints, Hints::Traffic(_))
                || !service.ports.iter().all(|port| is_tcp(&port.protocol)),
        }
    }

    /// The same rules, by which all changes are urgent.
    #[must_use]
    pub const fn urgent(self) -> Self {
        Self { all_urgent: true, ..self }
    }

    /// True if no change may wait.
    pub const fn are_urgent(self) -> bool {
        self.all_urgent
    }

    /// True if no consumer sends traffic elsewhere for this change, while another endpoint of the group is ready.
    pub(super) fn is_soft(self, change: Change<'_>) -> bool {
        match change {
            Change::Added(endpoint) => {
                let conditions = conditions(endpoint);
                conditions.ready == Some(false) && conditions.serving == Some(false)
            }
            Change::Updated(stored, planned) => {
                const ENDED: (Option<bool>, Option<bool>, Option<bool>) =
                    (Some(false), Some(false), Some(true));
                let (before, after) = (conditions(stored), conditions(planned));
                let after = (after.ready, after.serving, after.terminating);
                let stops_serving =
                    before.serving == Some(true) && before.terminating == Some(true) && after == ENDED;
                stops_serving && self.is_unused(stored) && equal_but_conditions(stored, planned)
            }
            Change::Removed(endpoint) => self.is_unused(endpoint),
        }
    }

    /// True if the endpoint gets no traffic while another one of the group is ready. Consumers take an absent condition
    /// for a true one.
    fn is_unused(self, endpoint: &Endpoint) -> bool {
        let conditions = conditions(endpoint);
        conditions.ready == Some(false) && (!self.serving_counts || conditions.serving == Some(false))
    }
}

fn conditions(endpoint: &Endpoint) -> &EndpointConditions {
    const NONE: &EndpointConditions = &EndpointConditions { ready: None, serving: None, terminating: None };
    endpoint.conditions.as_ref().unwrap_or(NONE)
}

fn equal_but_conditions(a: &Endpoint, b: &Endpoint) -> bool {
    let Endpoint {
        addresses,
        conditions: _,
        deprecated_topology,
        hints,
        hostname,
        node_name,
        target_ref,
        zone,
    } = a;
    *addresses == b.addresses
        && *deprecated_topology == b.deprecated_topology
        && *hints == b.hints
        && *hostname == b.hostname
        && *node_name == b.node_name
        && *target_ref == b.target_ref
        && *zone == b.zone
}

#[cfg(test)]
mod tests;
