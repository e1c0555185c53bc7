//! Hashes that tables keep alongside their values.
//!
//! A table that grows needs the hash of each value again. Reading names for that takes two cache misses per object, all
//! in one hold of the cache's lock. 32 bits kept alongside the pointer, where alignment leaves room for them, make growth
//! a copy.

use std::hash::{BuildHasher, Hash};

use foldhash::quality::RandomState;

/// A source of hashes with a seed of its own, so that collisions can't be prepared offline: tenants choose names and
/// labels.
#[derive(Default)]
pub(crate) struct Seed(RandomState);

impl Seed {
    /// 32 bits of hash.
    pub(crate) fn short(&self, value: impl Hash) -> u32 {
        let hash = self.0.hash_one(value);
        u32::try_from(hash >> 32).unwrap_or_default()
    }
}

/// The hash in the form that a table needs: hashbrown takes the bucket from the lower bits and a tag from the highest
/// seven.
pub(crate) fn spread(short: u32) -> u64 {
    u64::from(short) << 32 | u64::from(short)
}
