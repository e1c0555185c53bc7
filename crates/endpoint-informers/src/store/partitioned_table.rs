//! A hash table that grows one part at a time.

use std::mem;

use hashbrown::HashTable;

/// The number of values from which on a table is partitioned.
const PARTITION_AT: usize = 4096;
const PARTS: usize = 64;

/// A hash table for any number of values, whose parts grow one at a time.
///
/// A plain table of 300,000 pods takes tens of milliseconds to grow, in one hold of the cache's lock; a sixty-fourth of
/// it takes less than one. A small table is not partitioned, so that many small namespaces cost nothing extra.
pub(crate) struct PartitionedTable<T> {
    /// All values, until the table is partitioned.
    small: HashTable<T>,
    parts: Vec<HashTable<T>>,
    len: usize,
}

impl<T> Default for PartitionedTable<T> {
    fn default() -> Self {
        Self { small: HashTable::new(), parts: Vec::new(), len: 0 }
    }
}

/// The part that a hash belongs to. Uses bits that hashbrown needs neither for the bucket, unless a table is huge, nor
/// for its tag in the highest seven bits, and that [`spread`](super::hash::spread) doesn't repeat in the lower ones.
fn part_of(hash: u64) -> usize {
    usize::try_from(hash >> 51).unwrap_or_default() % PARTS
}

impl<T> PartitionedTable<T> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { small: HashTable::with_capacity(capacity), ..Self::default() }
    }

    fn table(&self, hash: u64) -> &HashTable<T> {
        self.parts.get(part_of(hash)).unwrap_or(&self.small)
    }

    fn table_mut(&mut self, hash: u64) -> &mut HashTable<T> {
        self.parts.get_mut(part_of(hash)).unwrap_or(&mut self.small)
    }

    /// The value that hashes to `hash` and satisfies `wanted`.
    pub(crate) fn find(&self, hash: u64, wanted: impl FnMut(&T) -> bool) -> Option<&T> {
        self.table(hash).find(hash, wanted)
    }

    /// Mutable form of [`Self::find`].
    pub(crate) fn find_mut(&mut self, hash: u64, wanted: impl FnMut(&T) -> bool) -> Option<&mut T> {
        self.table_mut(hash).find_mut(hash, wanted)
    }

    /// Adds a value that is not in the table.
    pub(crate) fn insert_unique(&mut self, hash: u64, value: T, hash_of: impl Fn(&T) -> u64) {
        if self.parts.is_empty() && self.len >= PARTITION_AT {
            self.parts.resize_with(PARTS, HashTable::new);
            for value in mem::take(&mut self.small) {
                let hash = hash_of(&value);
                self.table_mut(hash).insert_unique(hash, value, &hash_of);
            }
        }
        self.table_mut(hash).insert_unique(hash, value, hash_of);
        self.len += 1;
    }

    /// Removes the value that hashes to `hash` and satisfies `wanted`.
    pub(crate) fn remove(&mut self, hash: u64, wanted: impl FnMut(&T) -> bool) -> Option<T> {
        let (value, _) = self.table_mut(hash).find_entry(hash, wanted).ok()?.remove();
        self.len -= 1;
        if self.len == 0 {
            // Frees the memory; the table is no longer partitioned.
            *self = Self::default();
        }
        Some(value)
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// True if the table is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All values, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.small.iter().chain(self.parts.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use foldhash::quality::RandomState;

    use super::super::hash::{Seed, spread};
    use super::*;

    fn fill_and_empty(hash_of: impl Fn(&usize) -> u64 + Copy) {
        let mut table = PartitionedTable::default();
        let size = 5 * PARTITION_AT;
        for value in 0..size {
            table.insert_unique(hash_of(&value), value, hash_of);
        }
        assert_eq!((table.len(), table.iter().count()), (size, size));
        let largest = table.parts.iter().map(HashTable::len).max().unwrap();
        assert!(largest < 2 * size / PARTS, "{largest} of {size} in one part");
        for value in 0..size {
            *table.find_mut(hash_of(&value), |other| *other == value).unwrap() = value;
            assert!(table.find(hash_of(&value), |other| *other == value).is_some());
            assert_eq!(table.remove(hash_of(&value), |other| *other == value), Some(value));
            assert_eq!(table.remove(hash_of(&value), |other| *other == value), None);
        }
        assert!(table.is_empty() && table.parts.is_empty());
    }

    #[test]
    fn values_spread_evenly_over_parts_for_both_kinds_of_hash() {
        let (long, short) = (RandomState::default(), Seed::default());
        fill_and_empty(|value| long.hash_one(value));
        fill_and_empty(|value| spread(short.short(value)));
    }
}
