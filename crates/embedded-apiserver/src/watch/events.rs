//! The events of a watch, and which of them a change causes.

use std::sync::Arc;

use crate::list::Request;
use crate::status::Status;
use crate::store::{Event, EventKind, Stored};

/// One event as clients see it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WatchEvent {
    /// A change of an object.
    Object(WatchKind, Arc<Stored>),
    /// All changes up to a version were sent.
    Bookmark {
        version: u64,
        /// True if it ends the initial state (annotation `k8s.io/initial-events-end`).
        initial_events_end: bool,
    },
    /// The watch failed and ends.
    Error(Status),
}

/// The type of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchKind {
    Added,
    Modified,
    Deleted,
}

impl WatchKind {
    /// The type in events.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// The event that a change causes in a watch, if any: an object that comes to match is added, one that no longer matches is
/// deleted (`convertToWatchEvent` of the cacher).
pub(super) fn convert(request: &Request, event: &Event) -> Option<WatchEvent> {
    let matches = event.kind != EventKind::Deleted && request.selection.matches(&event.object);
    let matched = event.previous.as_ref().is_some_and(|previous| request.selection.matches(previous));
    let (kind, object) = match (matched, matches) {
        (false, false) => return None,
        (false, true) => (WatchKind::Added, Arc::clone(&event.object)),
        (true, true) => (WatchKind::Modified, Arc::clone(&event.object)),
        (true, false) if event.kind == EventKind::Deleted => (WatchKind::Deleted, Arc::clone(&event.object)),
        // The state that matched last, with the version of the change.
        (true, false) => {
            let previous = event.previous.as_ref()?.at_version(event.version());
            (WatchKind::Deleted, Arc::new(previous))
        }
    };
    Some(WatchEvent::Object(kind, object))
}
