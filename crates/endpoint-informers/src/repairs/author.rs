//! The author of a foreign change.

use std::fmt;
use std::sync::Arc;

/// The client that made a foreign change, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// Unknown: a deletion, or a change that only removes fields, leaves no trace in the object.
    Unknown,
    /// The API server stored something other than what was sent: a mutating admission webhook or policy.
    Admission,
    /// The field manager that wrote the object last.
    Manager(Arc<str>),
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "an unknown client (deletions and removed fields carry no field manager; see the audit log)",
            ),
            Self::Admission => f.write_str("an admission webhook or policy"),
            Self::Manager(manager) => write!(f, "field manager {manager:?}"),
        }
    }
}

impl Author {
    /// The more informative of both; of two names the later.
    pub(super) fn or(self, later: Self) -> Self {
        match (&self, &later) {
            (_, Self::Manager(_)) | (Self::Unknown, _) => later,
            _ => self,
        }
    }
}
