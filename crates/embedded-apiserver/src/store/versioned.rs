//! The store itself.

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::watch;

use super::log::{Compacted, Event, EventKind, Log};
use super::object::{Resource, Stored};
use super::options::StoreOptions;
use super::state::Objects;
use crate::codec::protobuf::Template;

/// The version of a store without a write, as of an empty etcd.
const FIRST_VERSION: u64 = 1;

/// Number of events that one reading of the log examines, so that a reader does not keep writers waiting.
const MAX_EXAMINED: usize = 4096;

/// All objects of a server.
///
/// One lock guards the objects and the log, for some microseconds at a time; encoding and selecting happen outside of it.
/// Cost of a write: O(log n) and one copy of the object.
#[derive(Debug)]
pub(crate) struct Store {
    inner: RwLock<Inner>,
    /// The last version of each resource, to wake its watches.
    changed: Vec<watch::Sender<u64>>,
    /// The last version of all, to wake reads of future versions.
    version: watch::Sender<u64>,
    life: watch::Sender<Life>,
}

/// The lives of a store: a restore ends one, and with it all watches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Life {
    number: u64,
    /// True if it has ended for good.
    pub(crate) closed: bool,
}

#[derive(Debug)]
struct Inner {
    objects: Vec<Objects>,
    log: Log,
}

/// The state that a write expects to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// No object.
    Absent,
    /// The object of this version.
    Version(u64),
    /// Any object, but one.
    #[cfg(test)]
    Present,
}

/// A write does not fit the state. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There is an object already.
    Exists(Arc<Stored>),
    /// There is no object.
    NotFound,
    /// The object has another version.
    Changed(Arc<Stored>),
}

/// A read at a version that cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// The version is older than the log.
    Compacted(Compacted),
    /// The version is in the future; the field is the current one.
    Future(u64),
}

/// The keys that a read covers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<'a> {
    /// The beginning of the keys: empty for all, or `namespace/`.
    pub(crate) prefix: &'a str,
    /// The least key; empty for the first.
    pub(crate) start: &'a str,
}

impl Store {
    /// An empty store for this number of resources.
    pub(crate) fn new(resources: usize, options: StoreOptions) -> Self {
        Self {
            inner: RwLock::new(Inner::new(resources, options, FIRST_VERSION, Vec::new())),
            changed: (0..resources).map(|_| watch::Sender::new(FIRST_VERSION)).collect(),
            version: watch::Sender::new(FIRST_VERSION),
            life: watch::Sender::new(Life::default()),
        }
    }

    /// Replaces everything by these objects, at a version that is not less than any of theirs, as the restore of a backup of
    /// etcd does: objects and version may go back, and all watches end.
    pub(crate) fn reset(&self, version: u64, objects: Vec<(Resource, Arc<Stored>)>) {
        let mut inner = self.inner.write();
        *inner = Inner::new(inner.objects.len(), inner.log.bounds(), version, objects);
        // Under the lock, so that no watch of the new life is ended and no write is overtaken.
        self.life.send_modify(|life| life.number += 1);
        self.version.send_replace(version);
        for changed in &self.changed {
            changed.send_replace(version);
        }
    }

    /// The version of the last write.
    pub(crate) fn version(&self) -> u64 {
        self.inner.read().log.version()
    }

    /// The version of the last compaction.
    #[cfg(test)]
    pub(crate) fn compacted(&self) -> u64 {
        self.inner.read().log.compacted()
    }

    /// The current object.
    pub(crate) fn get(&self, resource: Resource, key: &str) -> Option<Arc<Stored>> {
        self.inner.read().objects(resource)?.get(key).cloned()
    }

    /// Writes an object. `body` is its message; its resourceVersion is replaced by the version of this write.
    pub(crate) fn put(
        &self,
        resource: Resource,
        key: &str,
        expect: Expect,
        body: &[u8],
    ) -> Result<Arc<Stored>, Refused> {
        let template = Template::cut(body);
        let mut inner = self.inner.write();
        let previous = inner.expect(resource, key, expect)?;
        let version = inner.log.version() + 1;
        let key = previous.as_ref().map_or_else(|| key.into(), |previous| previous.shared_key());
        let object = Arc::new(Stored::new(version, key, template.stamp(version)));
        if let Some(objects) = inner.objects.get_mut(usize::from(resource.0)) {
            objects.put(Arc::clone(&object));
        }
        let kind = if previous.is_some() { EventKind::Modified } else { EventKind::Added };
        inner.log.push(Event { resource, kind, object: Arc::clone(&object), previous });
        self.wake(resource, version);
        Ok(object)
    }

    /// Deletes an object and returns its last state with the version of the deletion, as the DELETED event has it.
    pub(crate) fn delete(
        &self,
        resource: Resource,
        key: &str,
        expect: Expect,
    ) -> Result<Arc<Stored>, Refused> {
        let mut inner = self.inner.write();
        let Some(previous) = inner.expect(resource, key, expect)? else { return Err(Refused::NotFound) };
        let version = inner.log.version() + 1;
        let object = Arc::new(previous.at_version(version));
        if let Some(objects) = inner.objects.get_mut(usize::from(resource.0)) {
            objects.remove(key);
        }
        let kind = EventKind::Deleted;
        inner.log.push(Event { resource, kind, object: Arc::clone(&object), previous: Some(previous) });
        self.wake(resource, version);
        Ok(object)
    }

    /// Calls `visit` in the order of keys for the objects at a version, or now, and returns the version of what was
    /// visited. Visits happen under the lock for reading: they must be short.
    pub(crate) fn visit(
        &self,
        resource: Resource,
        version: Option<u64>,
        span: Span<'_>,
        visit: impl FnMut(&Arc<Stored>) -> ControlFlow<()>,
    ) -> Result<u64, ReadError> {
        let inner = self.inner.read();
        let current = inner.log.version();
        let version = version.unwrap_or(current);
        if version > current {
            return Err(ReadError::Future(current));
        }
        let oldest = inner.log.oldest(resource);
        if version < oldest {
            return Err(ReadError::Compacted(Compacted(oldest)));
        }
        let events = inner.log.after(resource, version).map_err(ReadError::Compacted)?;
        let Some(objects) = inner.objects(resource) else { return Ok(version) };
        if version == current {
            objects.visit(span.prefix, span.start, visit);
        } else {
            let events = events.rev().filter(|event| event.resource == resource);
            objects.visit_before(events, span.prefix, span.start, visit);
        }
        Ok(version)
    }

    /// The current version and all objects, by resource.
    pub(crate) fn everything(&self) -> (u64, Vec<(Resource, Arc<Stored>)>) {
        let inner = self.inner.read();
        let mut everything = Vec::with_capacity(inner.objects.iter().map(Objects::len).sum());
        for (index, objects) in (0..).zip(&inner.objects) {
            objects.visit("", "", |object| {
                everything.push((Resource(index), Arc::clone(object)));
                ControlFlow::Continue(())
            });
        }
        (inner.log.version(), everything)
    }

    /// The changes of a resource after a version that `wanted` accepts, up to `max` of them, and the version up to which
    /// the log was read.
    pub(crate) fn events_after(
        &self,
        resource: Resource,
        version: u64,
        max: usize,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<(Vec<Event>, u64), Compacted> {
        let inner = self.inner.read();
        let mut read_up_to = version;
        let mut events = Vec::new();
        for event in inner.log.after(resource, version)?.take(MAX_EXAMINED) {
            read_up_to = event.version();
            if event.resource == resource && wanted(event) {
                events.push(event.clone());
                if events.len() >= max {
                    break;
                }
            }
        }
        Ok((events, read_up_to))
    }

    /// The oldest version at which a list or watch of a resource can begin.
    pub(crate) fn oldest(&self, resource: Resource) -> u64 {
        self.inner.read().log.oldest(resource)
    }

    /// Drops the history up to a version: lists and watches that begin at an older one get 410 from now on, and so does a
    /// running watch that has not read all of it.
    pub(crate) fn compact(&self, version: u64) {
        self.inner.write().log.compact(version);
    }

    /// A receiver that changes with each write of a resource.
    pub(crate) fn subscribe(&self, resource: Resource) -> Option<watch::Receiver<u64>> {
        self.changed.get(usize::from(resource.0)).map(watch::Sender::subscribe)
    }

    /// A receiver of the current version.
    pub(crate) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Ends all watches, and those that begin later.
    pub(crate) fn close(&self) {
        self.life.send_modify(|life| life.closed = true);
    }

    /// A receiver of the current life, which changes with [`Self::reset`] and [`Self::close`].
    pub(crate) fn life(&self) -> watch::Receiver<Life> {
        self.life.subscribe()
    }

    /// Wakes the readers. Called under the lock, so that versions come in order.
    fn wake(&self, resource: Resource, version: u64) {
        if let Some(changed) = self.changed.get(usize::from(resource.0)) {
            changed.send_replace(version);
        }
        self.version.send_replace(version);
    }
}

impl Inner {
    /// These objects, at this version. The history begins now.
    fn new(
        resources: usize,
        options: StoreOptions,
        version: u64,
        restored: Vec<(Resource, Arc<Stored>)>,
    ) -> Self {
        let mut objects: Vec<Objects> = (0..resources).map(|_| Objects::default()).collect();
        for (resource, object) in restored {
            if let Some(objects) = objects.get_mut(usize::from(resource.0)) {
                objects.put(object);
            }
        }
        Self { objects, log: Log::new(resources, version, options) }
    }

    fn objects(&self, resource: Resource) -> Option<&Objects> {
        self.objects.get(usize::from(resource.0))
    }

    /// The current object, if it is what the writer expects.
    fn expect(&self, resource: Resource, key: &str, expect: Expect) -> Result<Option<Arc<Stored>>, Refused> {
        let current = self.objects(resource).and_then(|objects| objects.get(key)).cloned();
        match (current, expect) {
            (None, Expect::Absent) => Ok(None),
            (None, _) => Err(Refused::NotFound),
            (Some(current), Expect::Absent) => Err(Refused::Exists(current)),
            (Some(current), Expect::Version(version)) if current.version() != version => {
                Err(Refused::Changed(current))
            }
            (Some(current), _) => Ok(Some(current)),
        }
    }
}
