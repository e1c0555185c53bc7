//! What a controller expects the cache to show after its own writes.

use std::collections::HashMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::well_known::SERVICE_NAME;

/// Remembers the generation of every slice written, so that a controller neither acts on a cache that lags behind its
/// own writes nor mistakes the echo of a write for somebody else's change.
///
/// Slices are grouped by the Service named in their `kubernetes.io/service-name` label. Memory is a few dozen bytes
/// for each slice written since the process began (`util/endpointslice_tracker.go`).
#[derive(Debug, Default)]
pub struct SliceTracker {
    services: HashMap<ServiceKey, HashMap<String, Expected>>,
}

type ServiceKey = (String, String);

/// What a slice should look like in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// At least this generation.
    Generation(i64),
    /// Gone.
    Deleted,
}

impl SliceTracker {
    /// Notes a slice as the API server returned it from a create or an update.
    pub fn written(&mut self, slice: &EndpointSlice) {
        self.expect(slice, Expected::Generation(generation(slice)));
    }

    /// Notes that a slice was deleted and should leave the cache.
    pub fn deleted(&mut self, slice: &EndpointSlice) {
        self.expect(slice, Expected::Deleted);
    }

    fn expect(&mut self, slice: &EndpointSlice, expected: Expected) {
        self.services.entry(service_key(slice)).or_default().insert(uid(slice).to_owned(), expected);
    }

    /// True if a slice of this uid has been noted.
    pub fn has(&self, namespace: &str, service: &str, uid: &str) -> bool {
        self.expected(namespace, service, uid).is_some()
    }

    /// True if a slice seen in the cache is not the echo of our own write: unknown, newer than ours, or back although
    /// we deleted it.
    pub fn should_sync(&self, namespace: &str, service: &str, uid: &str, generation: i64) -> bool {
        match self.expected(namespace, service, uid) {
            Some(Expected::Generation(expected)) => generation > expected,
            Some(Expected::Deleted) | None => true,
        }
    }

    /// Forgets a slice that left the cache. False if it should not have.
    pub fn gone(&mut self, namespace: &str, service: &str, uid: &str) -> bool {
        let key = (namespace.to_owned(), service.to_owned());
        let Some(slices) = self.services.get_mut(&key) else { return true };
        let expected = slices.remove(uid);
        if slices.is_empty() {
            self.services.remove(&key);
        }
        !matches!(expected, Some(Expected::Generation(_)))
    }

    /// Forgets everything about a Service.
    pub fn forget_service(&mut self, namespace: &str, service: &str) {
        self.services.remove(&(namespace.to_owned(), service.to_owned()));
    }

    /// True if the cache has not caught up with our writes to this Service's slices: one is older than what was
    /// written, one is missing, or a deleted one is still there.
    ///
    /// `cached` gives uid and generation of each slice in the cache.
    pub fn is_stale<'a>(
        &self,
        namespace: &str,
        service: &str,
        cached: impl IntoIterator<Item = (&'a str, i64)>,
    ) -> bool {
        let Some(slices) = self.services.get(&(namespace.to_owned(), service.to_owned())) else {
            return false;
        };
        let mut seen = 0;
        for (uid, generation) in cached {
            match slices.get(uid) {
                Some(Expected::Deleted) => return true,
                Some(Expected::Generation(expected)) if *expected > generation => return true,
                Some(Expected::Generation(_)) => seen += 1,
                None => {}
            }
        }
        seen < slices.values().filter(|expected| **expected != Expected::Deleted).count()
    }

    fn expected(&self, namespace: &str, service: &str, uid: &str) -> Option<Expected> {
        self.services.get(&(namespace.to_owned(), service.to_owned()))?.get(uid).copied()
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

fn generation(slice: &EndpointSlice) -> i64 {
    slice.metadata.generation.unwrap_or_default()
}
