//! The history of the server, and the part of it that the cache shows.

use endpointslice::Service;

use crate::server::emit;
use crate::{Served, TestApi};

impl<T: Served> TestApi<T> {
    /// The resourceVersion of the last write.
    pub fn version(&self) -> u64 {
        self.server.lock().api.version()
    }

    /// Forgets all states of objects but the current ones, as the compaction of etcd does.
    pub fn compact(&self) {
        self.server.lock().api.compact();
    }

    /// Delivers the watch event of a stored object, or a bookmark if there is none.
    pub fn deliver(&self, name: &str) {
        match self.stored(name) {
            Some(object) => emit(&self.cache, &object),
            None => self.cache.apply::<T::Cached>([], &self.version().to_string(), false),
        }
    }

    /// Delivers a bookmark of the watch of Services.
    pub fn observe_services(&self) {
        self.cache.apply::<Service>([], &self.version().to_string(), false);
    }

    /// The names of the objects that the controller has looked up at an older resourceVersion so far.
    pub fn past_lookups(&self) -> Vec<String> {
        self.server.lock().past_lookups.clone()
    }
}
