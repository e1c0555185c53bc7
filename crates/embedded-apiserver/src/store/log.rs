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

/// Events after this version are complete; some older ones are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compacted(pub(crate) u64);

/// The changes after [`Self::compacted`], oldest first, one for each version. Hence the place of an event follows from its
/// version.
#[derive(Debug)]
pub(super) struct Log {
    events: VecDeque<Event>,
    compacted: u64,
    /// The version of the last compaction on demand.
    floor: u64,
    /// The version of the last event of each resource that is gone. Busy resources push the events of quiet ones out
    /// unless there are none, so that a quiet watch stays valid.
    gone: Vec<u64>,
    bytes: usize,
    bounds: StoreOptions,
}

impl Log {
    pub(super) fn new(resources: usize, version: u64, bounds: StoreOptions) -> Self {
        let gone = vec![version; resources];
        Self { events: VecDeque::new(), compacted: version, floor: version, gone, bytes: 0, bounds }
    }

    pub(super) fn bounds(&self) -> StoreOptions {
        self.bounds
    }

    /// The version after which all events are here.
    #[cfg(test)]
    pub(super) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// The oldest version at which a read of a resource can begin.
    pub(super) fn oldest(&self, resource: Resource) -> u64 {
        self.floor.max(self.gone(resource))
    }

    fn gone(&self, resource: Resource) -> u64 {
        self.gone.get(usize::from(resource.0)).copied().unwrap_or(self.compacted)
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
        self.floor = self.floor.max(version.min(self.compacted));
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(event) = self.events.pop_front() else { return false };
        self.bytes -= only_in_log(&event);
        self.compacted += 1;
        if let Some(gone) = self.gone.get_mut(usize::from(event.resource.0)) {
            *gone = self.compacted;
        }
        true
    }

    /// The changes after a version, newest last; those of the resource are complete.
    pub(super) fn after(
        &self,
        resource: Resource,
        version: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Event>, Compacted> {
        let gone = self.gone(resource);
        if version < gone {
            return Err(Compacted(gone));
        }
        let skipped = usize::try_from(version.saturating_sub(self.compacted)).unwrap_or(usize::MAX);
        Ok(self.events.range(skipped.min(self.events.len())..))
    }
}

/// Bytes of the bodies that no map refers to once a later event has replaced the object.
fn only_in_log(event: &Event) -> usize {
    let previous = event.previous.as_ref().map_or(0, |previous| previous.body().len());
    // A deleted object is a copy of its last state.
    let deleted = if event.kind == EventKind::Deleted { event.object.body().len() } else { 0 };
    previous + deleted
}
