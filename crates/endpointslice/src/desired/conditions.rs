//! The conditions that endpoints are published with.

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointSlice};

use crate::model::endpoints_of_mut;

/// The conditions that endpoints are published with (feature gate `EndpointSliceTerminatingCondition`, KEP-1672).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// `ready`, `serving` and `terminating`.
    #[default]
    All,
    /// `ready` alone, as before KEP-1672. Slices with further conditions are not written for that; any write drops them.
    ReadyOnly,
}

impl Conditions {
    /// True if two endpoints agree in the published conditions. An absent condition differs from a false one.
    pub(crate) fn agree(self, a: &Endpoint, b: &Endpoint) -> bool {
        const NONE: &EndpointConditions =
            &EndpointConditions { ready: None, serving: None, terminating: None };
        let [a, b] = [a, b].map(|endpoint| endpoint.conditions.as_ref().unwrap_or(NONE));
        match self {
            Self::All => a == b,
            Self::ReadyOnly => a.ready == b.ready,
        }
    }

    /// Drops the other conditions from a slice that is about to be written.
    pub(crate) fn trim(self, slice: &mut EndpointSlice) {
        if self == Self::ReadyOnly {
            endpoints_of_mut(slice).iter_mut().for_each(trim);
        }
    }
}

/// The endpoint with `ready` as its only condition; none if it is terminating.
///
/// A terminating endpoint that is ready stays: its Service publishes not-ready addresses.
pub(crate) fn ready_only(mut endpoint: Endpoint) -> Option<Endpoint> {
    let conditions = endpoint.conditions.as_ref();
    let gone = conditions.is_some_and(|it| it.terminating == Some(true) && it.ready != Some(true));
    trim(&mut endpoint);
    (!gone).then_some(endpoint)
}

fn trim(endpoint: &mut Endpoint) {
    if let Some(conditions) = &mut endpoint.conditions {
        (conditions.serving, conditions.terminating) = (None, None);
    }
}

/// True if the endpoint is ready; an absent condition is not.
pub(crate) fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
}
