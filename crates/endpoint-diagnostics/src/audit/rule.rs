//! A rule, as data.

use super::finding::{Finding, Severity};
use super::group::Group;
use super::options::Options;
use crate::snapshot::{Kind, Snapshot};

/// One rule.
pub struct Rule {
    /// The id, which never changes.
    pub id: &'static str,
    /// The severities that its findings may have, the lightest first.
    pub severities: &'static [Severity],
    /// The kinds of objects that must be readable, besides the object of the finding itself.
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

/// The surroundings of a Service.
pub(super) struct Context<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) options: &'a Options,
    /// A controller maintains Endpoints: some Service with a selector has them.
    pub(super) has_managed_endpoints: bool,
}
