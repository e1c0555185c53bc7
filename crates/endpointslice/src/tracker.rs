//! What a controller expects the cache to show after its own writes.

use std::collections::HashMap;
use std::hash::RandomState;

use hashbrown::Equivalent;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::well_known::SERVICE_NAME;

/// Remembers the state of every slice written, so that a controller neither acts on a cache that lags behind its own
/// writes nor mistakes the echo of a write for another client's change.
///
/// States are compared by resourceVersion. Upstream goes by generation, which changes of annotations, owner references
/// and finalizers don't raise, and relies on its resync for those.
///
/// Slices are grouped by the Service named in their `kubernetes.io/service-name` label. Memory is about a
/// hundred bytes for each slice that was seen or written and is still there (`util/endpointslice_tracker.go`).
#[derive(Debug, Default)]
pub struct SliceTracker {
    services: hashbrown::HashMap<ServiceKey, HashMap<String, Note>, RandomState>,
    /// How many lists have begun.
    lists: u64,
}

/// Namespace and name.
type ServiceKey = (String, String);

/// The same to look up by, at no cost.
#[derive(Hash)]
struct ServiceName<'a>(&'a str, &'a str);

impl Equivalent<ServiceKey> for ServiceName<'_> {
    fn equivalent(&self, key: &ServiceKey) -> bool {
        (self.0, self.1) == (&*key.0, &*key.1)
    }
}

/// The state of a slice: its generation, and its resourceVersion if that is a number, else 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceState {
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.resourceVersion`.
    pub version: u64,
}

impl SliceState {
    /// True if `other` is a later state of the same slice. States whose versions are unknown are ordered by generation.
    pub fn is_older_than(self, other: Self) -> bool {
        if self.version > 0 && other.version > 0 {
            self.version < other.version
        } else {
            self.generation < other.generation
        }
    }
}

/// What is noted of a slice.
#[derive(Clone, Copy, Debug)]
struct Note {
    expected: Expected,
    /// How many lists had begun when it was noted.
    lists: u64,
    /// Its disappearance is nothing to act on.
    may_go: bool,
}

/// What a slice should look like in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// In this state, or a later one.
    Written(SliceState),
    /// Gone.
    Deleted,
}

impl SliceTracker {
    /// Notes a slice as the API server returned it from a create or an update.
    pub fn written(&mut self, slice: &EndpointSlice) {
        let version = slice.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        let generation = slice.metadata.generation.unwrap_or_default();
        let state = SliceState { generation, version: version.unwrap_or_default() };
        self.expect(slice, Expected::Written(state));
    }

    /// Notes a slice as a sync has found it, unless there is a note of this state or a later one: its disappearance, and
    /// any change from here on, will be noticed. Upstream notes only what it wrote itself, and overlooks deletions after
    /// a restart.
    pub fn seen(&mut self, namespace: &str, service: &str, uid: &str, state: SliceState) {
        // Even if a list is under way: what the cache shows meanwhile may be of a moment before it.
        let found =
            Note { expected: Expected::Written(state), lists: self.lists.saturating_sub(1), may_go: false };
        let noted =
            self.services.get_mut(&ServiceName(namespace, service)).and_then(|slices| slices.get_mut(uid));
        if let Some(note) = noted {
            note.may_go = false;
            if matches!(note.expected, Expected::Written(written) if written.is_older_than(state)) {
                note.expected = found.expected;
            }
        } else {
            let slices = self.services.entry((namespace.to_owned(), service.to_owned())).or_default();
            slices.insert(uid.to_owned(), found);
        }
    }

    /// Notes that a slice was deleted and should leave the cache.
    pub fn deleted(&mut self, slice: &EndpointSlice) {
        self.expect(slice, Expected::Deleted);
    }

    fn expect(&mut self, slice: &EndpointSlice, expected: Expected) {
        let note = Note { expected, lists: self.lists, may_go: false };
        self.services.entry(service_key(slice)).or_default().insert(uid(slice).to_owned(), note);
    }

    /// A list of all slices is going to be asked for. It will hold what was noted until now.
    pub fn list_begins(&mut self) {
        self.lists += 1;
    }

    /// The list that began last is complete: what was noted before it began is replaced by what it shows. What was noted
    /// since may not be in it, and stays.
    ///
    /// `shown` gives the state of a slice in the cache, by namespace, Service and uid. Returns namespace and name of each Service with a slice that is not as it was noted: no event
    /// may tell of that, because the cache never showed it otherwise, and one of somebody's change may look like an echo.
    ///
    /// This ends all waiting for what will never be shown, as after the API server was restored from a backup. Cost: one
    /// call for each slice noted.
    pub fn listed(
        &mut self,
        shown: impl Fn(&str, &str, &str) -> Option<SliceState>,
    ) -> Vec<(String, String)> {
        let mut surprising = Vec::new();
        for ((namespace, service), slices) in &mut self.services {
            let mut as_noted = true;
            slices.retain(|uid, note| {
                if note.lists == self.lists {
                    return true;
                }
                let found = shown(namespace, service, uid).map_or(Expected::Deleted, Expected::Written);
                as_noted &= found == note.expected || note.may_go && found == Expected::Deleted;
                note.expected = found;
                found != Expected::Deleted
            });
            if !as_noted {
                surprising.push((namespace.clone(), service.clone()));
            }
        }
        self.services.retain(|_, slices| !slices.is_empty());
        surprising
    }

    /// Namespace and name of each Service with slices that were noted.
    pub fn services(&self) -> impl Iterator<Item = &(String, String)> {
        self.services.keys()
    }

    /// True if a slice of this uid has been noted.
    pub fn has(&self, namespace: &str, service: &str, uid: &str) -> bool {
        self.expected(namespace, service, uid).is_some()
    }

    /// True if the last that was noted of this slice is its deletion.
    pub fn is_deleted(&self, namespace: &str, service: &str, uid: &str) -> bool {
        self.expected(namespace, service, uid) == Some(Expected::Deleted)
    }

    /// True if a slice seen in the cache is not the echo of our own write: unknown, newer than ours, or back although
    /// we deleted it.
    pub fn should_sync(&self, namespace: &str, service: &str, uid: &str, state: SliceState) -> bool {
        match self.expected(namespace, service, uid) {
            Some(Expected::Written(written)) => written.is_older_than(state),
            Some(Expected::Deleted) | None => true,
        }
    }

    /// Forgets a slice that left the cache. False if it should not have.
    pub fn gone(&mut self, namespace: &str, service: &str, uid: &str) -> bool {
        let key = ServiceName(namespace, service);
        let Some(slices) = self.services.get_mut(&key) else { return true };
        let note = slices.remove(uid);
        if slices.is_empty() {
            self.services.remove(&key);
        }
        !matches!(note, Some(Note { expected: Expected::Written(_), may_go: false, .. }))
    }

    /// The slices of this Service may disappear from now on, until they are written or found again: the garbage collector
    /// takes those of a Service that was deleted.
    pub fn let_go(&mut self, namespace: &str, service: &str) {
        let notes = self.services.get_mut(&ServiceName(namespace, service));
        notes.into_iter().flat_map(HashMap::values_mut).for_each(|note| note.may_go = true);
    }

    /// Forgets everything about a Service.
    pub fn forget_service(&mut self, namespace: &str, service: &str) {
        self.services.remove(&ServiceName(namespace, service));
    }

    /// True if the cache has not caught up with our writes to this Service's slices: one is older than what was
    /// written, one is missing, or a deleted one is still there.
    ///
    /// `cached` gives uid and state of each slice in the cache; `observed` is the resourceVersion up to which the
    /// cache has seen everything, or 0 if that is not known. A write up to there cannot be late any more: if its slice
    /// looks different, somebody else was at it. Upstream has no such end to its waiting, and can wait for ever
    /// (kubernetes#141592). The other end is [a list](Self::listed).
    pub fn is_stale<'a>(
        &self,
        namespace: &str,
        service: &str,
        observed: u64,
        cached: impl IntoIterator<Item = (&'a str, SliceState)>,
    ) -> bool {
        let Some(slices) = self.services.get(&ServiceName(namespace, service)) else { return false };
        let cached: HashMap<&str, SliceState> = cached.into_iter().collect();
        slices.iter().any(|(uid, note)| match (note.expected, cached.get(uid.as_str())) {
            (Expected::Deleted, found) => found.is_some(),
            (Expected::Written(written), _) if written.version > 0 && written.version <= observed => false,
            (Expected::Written(written), Some(found)) => found.is_older_than(written),
            (Expected::Written(_), None) => true,
        })
    }

    fn expected(&self, namespace: &str, service: &str, uid: &str) -> Option<Expected> {
        self.services.get(&ServiceName(namespace, service))?.get(uid).map(|note| note.expected)
    }
}

fn service_key(slice: &EndpointSlice) -> ServiceKey {
    let labels = slice.metadata.labels.as_ref();
    let service = labels.and_then(|labels| labels.get(SERVICE_NAME)).cloned();
    (slice.metadata.namespace.clone().unwrap_or_default(), service.unwrap_or_default())
}

fn uid(slice: &EndpointSlice) -> &str {
    slice.metadata.uid.as_deref().unwrap_or_default()
}
