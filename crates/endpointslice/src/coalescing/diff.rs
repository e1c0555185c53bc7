//! The comparison of a stored slice with the planned one.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::rules::{Change, Rules};
use crate::desired::{Identity, identity};
use crate::model::endpoints_of;
use crate::well_known::LAST_CHANGE_TRIGGER_TIME;

/// The changes that one write makes.
#[derive(Debug, Default)]
pub(super) struct Diff<'a> {
    /// True if a change is not soft, or if nothing changes but annotations.
    pub(super) urgent: bool,
    /// The endpoints whose change is soft.
    pub(super) soft: Vec<&'a Endpoint>,
    pub(super) added: usize,
    pub(super) updated: usize,
    pub(super) removed: usize,
}

impl<'a> Diff<'a> {
    /// Compares; an absent slice is one that is created or deleted. Cost: a hash of each endpoint.
    pub(super) fn between(
        stored: Option<&'a EndpointSlice>,
        planned: Option<&'a EndpointSlice>,
        rules: Rules,
    ) -> Self {
        let mut diff = Self::default();
        if let (Some(stored), Some(planned)) = (stored, planned) {
            diff.urgent = stored.ports != planned.ports || metadata_differs(stored, planned);
        }
        let mut left: HashMap<Identity<'_>, &Endpoint, RandomState> = HashMap::default();
        for endpoint in endpoints(stored) {
            // An endpoint that a slice has twice is not one of ours.
            diff.urgent |= left.insert(identity(endpoint), endpoint).is_some();
        }
        for endpoint in endpoints(planned) {
            match left.remove(&identity(endpoint)) {
                None => {
                    diff.added += 1;
                    diff.note(Change::Added(endpoint), endpoint, rules);
                }
                Some(stored) if stored == endpoint => {}
                Some(stored) => {
                    diff.updated += 1;
                    diff.note(Change::Updated(stored, endpoint), endpoint, rules);
                }
            }
        }
        for endpoint in endpoints(stored) {
            if left.remove(&identity(endpoint)).is_some() {
                diff.removed += 1;
                diff.note(Change::Removed(endpoint), endpoint, rules);
            }
        }
        diff.urgent |= diff.soft.is_empty();
        diff
    }

    fn note(&mut self, change: Change<'a>, endpoint: &'a Endpoint, rules: Rules) {
        if rules.is_soft(change) {
            self.soft.push(endpoint);
        } else {
            self.urgent = true;
        }
    }
}

fn endpoints(slice: Option<&EndpointSlice>) -> impl Iterator<Item = &Endpoint> {
    slice.into_iter().flat_map(endpoints_of)
}

/// Compares the metadata that a write may change. The trigger time causes no write.
fn metadata_differs(stored: &EndpointSlice, planned: &EndpointSlice) -> bool {
    let annotations = |slice: &EndpointSlice| {
        let mut annotations = slice.metadata.annotations.clone().unwrap_or_default();
        annotations.remove(LAST_CHANGE_TRIGGER_TIME);
        annotations
    };
    stored.metadata.labels != planned.metadata.labels
        || stored.metadata.owner_references != planned.metadata.owner_references
        || annotations(stored) != annotations(planned)
}
