//! What a controller expects the cache to show after its own writes.

use std::collections::HashMap;
use std::hash::RandomState;

use hashbrown::Equivalent;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::well_known::SERVICE_NAME;

/// Remembers the generation of every slice written, so that a controller neither acts on a cache that lags behind its
/// own writes nor mistakes the echo of a write for somebody else's change.
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

/// What is noted of a slice.
#[derive(Clone, Copy, Debug)]
struct Note {
    expected: Expected,
    /// How many lists had begun when it was noted.
    lists: u64,
}

/// What a slice should look like in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// At least this generation, from this resourceVersion on (0 if it is not a number).
    Written { generation: i64, version: u64 },
    /// Gone.
    Deleted,
}

impl SliceTracker {
    /// Notes a slice as the API server returned it from a create or an update.
    pub fn written(&mut self, slice: &EndpointSlice) {
        let version = slice.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        let generation = slice.metadata.generation.unwrap_or_default();
        self.expect(slice, Expected::Written { generation, version: version.unwrap_or_default() });
    }

    /// Notes a slice that was found as it should be, unless there is a note of it already, so that its disappearance
    /// will be noticed. Upstream notes only what it wrote itself, and overlooks deletions after a restart.
    pub fn seen(&mut self, namespace: &str, service: &str, uid: &str, generation: i64, version: u64) {
        if !self.has(namespace, service, uid) {
            let slices = self.services.entry((namespace.to_owned(), service.to_owned())).or_default();
            // Even if a list is under way: what the cache shows meanwhile may be of a moment before it.
            let lists = self.lists.saturating_sub(1);
            slices
                .insert(uid.to_owned(), Note { expected: Expected::Written { generation, version }, lists });
        }
    }

    /// Notes that a slice was deleted and should leave the cache.
    pub fn deleted(&mut self, slice: &EndpointSlice) {
        self.expect(slice, Expected::Deleted);
    }

    fn expect(&mut self, slice: &EndpointSlice, expected: Expected) {
        let note = Note { expected, lists: self.lists };
        self.services.entry(service_key(slice)).or_default().insert(uid(slice).to_owned(), note);
    }

    /// A list of all slices is going to be asked for. It will hold what was noted until now.
    pub fn list_begins(&mut self) {
        self.lists += 1;
    }

    /// The list that began last is complete: what was noted before it began is replaced by what it shows. What was noted
    /// since may not be in it, and stays.
    ///
    /// `shown` gives generation and resourceVersion (0 if it is not a number) of a slice in the cache, by namespace,
    /// Service and uid. Returns namespace and name of each Service with a slice that is not as it was noted: no event
    /// may tell of that, because the cache never showed it otherwise, and one of somebody's change may look like an echo.
    ///
    /// This ends all waiting for what will never be shown, as after the API server was restored from a backup. Cost: one
    /// call for each slice noted.
    pub fn listed(
        &mut self,
        shown: impl Fn(&str, &str, &str) -> Option<(i64, u64)>,
    ) -> Vec<(String, String)> {
        let mut surprising = Vec::new();
        for ((namespace, service), slices) in &mut self.services {
            let mut as_noted = true;
            slices.retain(|uid, note| {
                if note.lists == self.lists {
                    return true;
                }
                let found = shown(namespace, service, uid);
                let found = found.map_or(Expected::Deleted, |(generation, version)| Expected::Written {
                    generation,
                    version,
                });
                as_noted &= found == note.expected;
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

    /// True if a slice seen in the cache is not the echo of our own write: unknown, newer than ours, or back although
    /// we deleted it.
    pub fn should_sync(&self, namespace: &str, service: &str, uid: &str, generation: i64) -> bool {
        match self.expected(namespace, service, uid) {
            Some(Expected::Written { generation: written, .. }) => generation > written,
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
        !matches!(note, Some(Note { expected: Expected::Written { .. }, .. }))
    }

    /// Forgets everything about a Service.
    pub fn forget_service(&mut self, namespace: &str, service: &str) {
        self.services.remove(&ServiceName(namespace, service));
    }

    /// True if the cache has not caught up with our writes to this Service's slices: one is older than what was
    /// written, one is missing, or a deleted one is still there.
    ///
    /// `cached` gives uid and generation of each slice in the cache; `observed` is the resourceVersion up to which the
    /// cache has seen everything, or 0 if that is not known. A write up to there cannot be late any more: if its slice
    /// looks different, somebody else was at it. Upstream has no such end to its waiting, and can wait for ever
    /// (kubernetes#141592). The other end is [a list](Self::listed).
    pub fn is_stale<'a>(
        &self,
        namespace: &str,
        service: &str,
        observed: u64,
        cached: impl IntoIterator<Item = (&'a str, i64)>,
    ) -> bool {
        let Some(slices) = self.services.get(&ServiceName(namespace, service)) else { return false };
        let cached: HashMap<&str, i64> = cached.into_iter().collect();
        slices.iter().any(|(uid, note)| match (note.expected, cached.get(uid.as_str())) {
            (Expected::Deleted, found) => found.is_some(),
            (Expected::Written { version, .. }, _) if version > 0 && version <= observed => false,
            (Expected::Written { generation, .. }, Some(found)) => generation > *found,
            (Expected::Written { .. }, None) => true,
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
