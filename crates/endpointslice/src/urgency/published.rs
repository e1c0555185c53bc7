//! Endpoints of slices by identity, and the traffic that they may get.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use k8s_openapi::api::discovery::v1::Endpoint;

use crate::desired::{Identity, is_ready};

/// The traffic that an endpoint may get.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Traffic {
    ready: bool,
    serving: bool,
}

impl Traffic {
    /// An absent condition is true for consumers. An absent `serving` counts as `ready` here: an endpoint that is not terminating
    /// is used only if it is ready.
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        let conditions = endpoint.conditions.as_ref();
        let ready = conditions.and_then(|conditions| conditions.ready).unwrap_or(true);
        let serving = conditions.and_then(|conditions| conditions.serving);
        Self { ready, serving: serving.unwrap_or(ready) }
    }

    fn is_less_than(self, other: Self) -> bool {
        other.ready && !self.ready || other.serving && !self.serving
    }

    pub(super) fn is_any(self) -> bool {
        self.ready || self.serving
    }
}

/// The endpoints of one address type in the slices that a plan writes.
#[derive(Default)]
pub(super) struct Published<'a> {
    pub(super) endpoints: HashMap<(u64, Identity<'a>), &'a Endpoint, RandomState>,
    pub(super) hostnames: HashSet<&'a str, RandomState>,
}

impl Published<'_> {
    /// True if an endpoint here gets traffic that it does not get there.
    pub(super) fn is_more_than(&self, other: &Published<'_>) -> bool {
        self.endpoints.iter().any(|(key, endpoint)| {
            let there = other.endpoints.get(key).map(|endpoint| Traffic::of(endpoint));
            let there = there.unwrap_or(Traffic { ready: false, serving: false });
            there.is_less_than(Traffic::of(endpoint))
        })
    }

    /// True if an endpoint that is ready here is ready there, too.
    pub(super) fn has_ready_in(&self, other: &Published<'_>) -> bool {
        let stays_ready = |(key, endpoint): (&_, &&Endpoint)| {
            is_ready(endpoint) && other.endpoints.get(key).is_some_and(|there| is_ready(there))
        };
        self.endpoints.iter().any(stays_ready)
    }

    /// True if a host name of an endpoint that is ready here and not there has another one there.
    pub(super) fn moves_host_name(&self, other: &Published<'_>) -> bool {
        self.endpoints.iter().any(|(key, endpoint)| {
            let hostname = endpoint.hostname.as_deref().filter(|name| !name.is_empty());
            is_ready(endpoint)
                && hostname.is_some_and(|name| other.hostnames.contains(name))
                && !other.endpoints.get(key).is_some_and(|there| is_ready(there))
        })
    }
}
