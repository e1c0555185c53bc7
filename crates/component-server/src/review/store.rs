//! The memory of the review cache.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::cached::{CacheKey, CacheValue};

/// Bytes in each of the two generations of positive results, and of negative ones.
pub(super) const GENERATION_BYTES: usize = 1 << 20;
/// Bytes of an entry besides its key and value, roughly.
const ENTRY_OVERHEAD: usize = 128;

/// Results by key. Positive results are kept apart, so that negative ones, of which any client can cause any number, do
/// not displace them.
pub(super) struct Store<K, V> {
    pub(super) positive: Generations<K, V>,
    pub(super) negative: Generations<K, V>,
}

/// Entries of bounded size: a full young generation becomes the old one, and the entries of the old one are dropped.
///
/// Keys come from clients, so they are hashed with a random seed (the default hasher of `std`).
pub(super) struct Generations<K, V> {
    pub(super) young: HashMap<K, Entry<V>>,
    pub(super) old: HashMap<K, Entry<V>>,
    pub(super) young_bytes: usize,
}

pub(super) struct Entry<V> {
    value: V,
    /// From then on, a use of the entry starts another review.
    refresh_at: Instant,
    expires_at: Instant,
    pub(super) bytes: usize,
}

/// Result of a look-up.
pub(super) enum Lookup<V> {
    Fresh(V),
    /// A positive result that is still valid and will expire soon.
    RefreshDue(V),
    /// The last result was positive and has expired.
    ExpiredPositive,
    Missing,
}

impl<K: CacheKey, V: CacheValue> Store<K, V> {
    pub(super) fn new() -> Self {
        Self { positive: Generations::new(), negative: Generations::new() }
    }

    pub(super) fn look_up(&self, key: &K) -> Lookup<V> {
        let now = Instant::now();
        match self.positive.get(key) {
            Some(entry) if now < entry.refresh_at => Lookup::Fresh(entry.value.clone()),
            Some(entry) if now < entry.expires_at => Lookup::RefreshDue(entry.value.clone()),
            Some(_) => Lookup::ExpiredPositive,
            None => match self.negative.get(key) {
                Some(entry) if now < entry.expires_at => Lookup::Fresh(entry.value.clone()),
                _ => Lookup::Missing,
            },
        }
    }

    /// Replaces the entry of a key. Negative results without a lifetime are not stored.
    pub(super) fn insert(&mut self, key: K, value: V, ttl: Duration) {
        let now = Instant::now();
        let expires_at = now.checked_add(ttl).unwrap_or(now);
        let refresh_at = now.checked_add(ttl * 3 / 4).unwrap_or(now);
        let bytes = ENTRY_OVERHEAD + key.bytes() + value.bytes();
        let is_positive = value.is_positive();
        let entry = Entry { value, refresh_at, expires_at, bytes };
        self.remove(&key);
        if is_positive {
            self.positive.insert(key, entry);
        } else if expires_at > now {
            self.negative.insert(key, entry);
        }
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.positive.remove(key);
        self.negative.remove(key);
    }
}

impl<K: CacheKey, V> Generations<K, V> {
    fn new() -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), young_bytes: 0 }
    }

    fn get(&self, key: &K) -> Option<&Entry<V>> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// The key must not be present.
    fn insert(&mut self, key: K, entry: Entry<V>) {
        if entry.bytes > GENERATION_BYTES {
            return;
        }
        if self.young_bytes + entry.bytes > GENERATION_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += entry.bytes;
        self.young.insert(key, entry);
    }

    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.young.remove(key) {
            self.young_bytes -= entry.bytes;
        }
        self.old.remove(key);
    }
}
