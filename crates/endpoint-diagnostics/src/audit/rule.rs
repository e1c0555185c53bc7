//! A rule, as data.

use super::finding::{Finding, Severity};
use super::group::Group;
use crate::snapshot::{Kind, Snapshot};

/// One rule.
pub struct Rule {
    /// The id, which never changes.
    pub id: &'static str,
    /// The severities that its findings may have, the lightest first.
    pub severities: &'static [Severity],
    /// The kinds of objects that must be readable. EndpointSlices are named where their absence is a finding: nothing is audited
    /// for a caller that may not list them.
    pub needs: &'static [Kind],
    /// Adds the findings of one Service.
    pub(super) check: Check,
}

type Check = fn(&Context<'_>, &Group<'_>, &mut Vec<Finding>);

impl Rule {
    pub(super) const fn new(
        id: &'static str,
        severities: &'static [Severity],
        needs: &'static [Kind],
        check: Check,
    ) -> Self {
        Self { id, severities, needs, check }
    }
}

/// The snapshot that rules read, and facts about all of it.
pub(super) struct Context<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) options: &'a Options,
    /// A controller maintains Endpoints: some Service with a selector has them.
    pub(super) has_managed_endpoints: bool,
}

/// The flags of the controllers that audited clusters run with, as far as rules depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `--max-endpoints-per-slice`, if it is known.
    pub max_endpoints_per_slice: Option<usize>,
    /// `--mirroring-max-endpoints-per-subset`, if it is known.
    pub max_endpoints_per_subset: Option<usize>,
}

impl Options {
    /// The maximum of endpoints in a slice; without the flag, the default.
    pub(super) fn max_per_slice(&self) -> usize {
        self.max_endpoints_per_slice.unwrap_or(100).max(1)
    }

    /// The maximum of mirrored addresses of a subset; without the flag, the default.
    pub(super) fn max_per_subset(&self) -> usize {
        self.max_endpoints_per_subset.unwrap_or(1000).max(1)
    }
}
