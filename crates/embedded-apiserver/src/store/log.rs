//! The log of changes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::object::{Resource, Stored};
use super::options::StoreOptions;

/// One change of one object.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) resource: Resource,
    pub(crate) kind: EventKind,
    /// The object after the change; of a deletion, its last state with the version of the deletion.
    pub(crate) object: Arc<Stored>,
    /// The object before the change.
    pub(crate) previous: Option<Arc<Stored>>,
}

impl Event {
    /// The version of the change.
    pub(crate) fn version(&self) -> u64 {
        self.object.version()
    }
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Added,
    Modified,
    Deleted,
}

/// Events after this version are complete; older ones are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compacted(pub(crate) u64);

/// The changes after [`Self::compacted`], oldest first, one for each version. Hence the place of an event follows from its
/// version.
#[derive(Debug)]
pub(super) struct Log {
    events: VecDeque<Event>,
    compacted: u64,
    bytes: usize,
    bounds: StoreOptions,
}

impl Log {
    pub(super) fn new(version: u64, bounds: StoreOptions) -> Self {
        Self { events: VecDeque::new(), compacted: version, bytes: 0, bounds }
    }

    pub(super) fn compacted(&self) -> Compacted {
        Compacted(self.compacted)
    }

    /// The version of the last change.
    pub(super) fn version(&self) -> u64 {
        self.compacted + self.events.len() as u64
    }

    pub(super) fn push(&mut self, event: Event) {
        self.bytes += only_in_log(&event);
        self.events.push_back(event);
        while self.events.len() > self.bounds.history_events || self.bytes > self.bounds.history_bytes {
            if !self.drop_oldest() {
                break;
            }
        }
    }

    /// Drops the events up to a version.
    pub(super) fn compact(&mut self, version: u64) {
        while self.compacted < version && self.drop_oldest() {}
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(event) = self.events.pop_front() else { return false };
        self.bytes -= only_in_log(&event);
        self.compacted += 1;
        true
    }

    /// The changes after a version, newest last.
    ///
    /// # Errors
    /// Some of them are gone.
    pub(super) fn after(&self, version: u64) -> Result<impl DoubleEndedIterator<Item = &Event>, Compacted> {
        let skipped = version.checked_sub(self.compacted).ok_or(self.compacted())?;
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX).min(self.events.len());
        Ok(self.events.range(skipped..))
    }
}

/// Bytes of the bodies that no map refers to once a later event has replaced the object.
fn only_in_log(event: &Event) -> usize {
    let previous = event.previous.as_ref().map_or(0, |previous| previous.body().len());
    // A deleted object is a copy of its last state.
    let deleted = if event.kind == EventKind::Deleted { event.object.body().len() } else { 0 };
    previous + deleted
}
