//! A hash table for any number of values.

use std::{iter, mem, slice};

use hashbrown::HashTable;

/// The size of all values up to which they are searched one after the other, in bytes: that takes as long as a cache miss
/// or two, and a table of hashes would be as large again.
const FEW_BYTES: usize = 1024;

/// The number of values from which on a table is partitioned.
const PARTITION_AT: usize = 4096;
const PARTS: usize = 64;

/// A hash table for any number of values, which takes little more memory than a few values do, and whose parts grow one at a
/// time.
///
/// Most namespaces, nodes and labels have few values, and a large cluster has many of them. A plain table of 300,000 pods takes
/// tens of milliseconds to grow, in one hold of the cache's lock; a sixty-fourth of it takes less than one.
pub(crate) struct Table<T>(Form<T>);

enum Form<T> {
    /// At most [`FEW_BYTES`], without room for more.
    Few(Vec<T>),
    /// Behind a pointer, so that the table takes three words.
    Whole(Box<HashTable<T>>),
    Parts(Box<Parts<T>>),
}

struct Parts<T> {
    tables: [HashTable<T>; PARTS],
    len: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Form::Few(Vec::new()))
    }
}

/// The part that a hash belongs to. Uses bits that hashbrown needs neither for the bucket, unless a table is huge, nor
/// for its tag in the highest seven bits, and that [`spread`](super::hash::spread) doesn't repeat in the lower ones.
fn part_of(hash: u64) -> usize {
    usize::try_from(hash >> 51).unwrap_or_default() % PARTS
}

impl<T> Parts<T> {
    fn of(whole: HashTable<T>, hash_of: impl Fn(&T) -> u64) -> Self {
        let mut parts = Self { tables: std::array::from_fn(|_| HashTable::new()), len: whole.len() };
        for value in whole {
            let hash = hash_of(&value);
            parts.table_mut(hash).insert_unique(hash, value, &hash_of);
        }
        parts
    }

    #[allow(clippy::indexing_slicing, reason = "a remainder is less than the number of parts")]
    fn table(&self, hash: u64) -> &HashTable<T> {
        &self.tables[part_of(hash)]
    }

    #[allow(clippy::indexing_slicing, reason = "a remainder is less than the number of parts")]
    fn table_mut(&mut self, hash: u64) -> &mut HashTable<T> {
        &mut self.tables[part_of(hash)]
    }
}

impl<T> Table<T> {
    /// The most values that are searched one after the other.
    const FEW: usize = FEW_BYTES / size_of::<T>();

    /// The value that hashes to `hash` and satisfies `wanted`, which is also asked about values with other hashes.
    pub(crate) fn find(&self, hash: u64, wanted: impl FnMut(&T) -> bool) -> Option<&T> {
        match &self.0 {
            Form::Few(few) => {
                let mut wanted = wanted;
                few.iter().find(|value| wanted(value))
            }
            Form::Whole(table) => table.find(hash, wanted),
            Form::Parts(parts) => parts.table(hash).find(hash, wanted),
        }
    }

    /// Mutable form of [`Self::find`].
    pub(crate) fn find_mut(&mut self, hash: u64, wanted: impl FnMut(&T) -> bool) -> Option<&mut T> {
        match &mut self.0 {
            Form::Few(few) => {
                let mut wanted = wanted;
                few.iter_mut().find(|value| wanted(value))
            }
            Form::Whole(table) => table.find_mut(hash, wanted),
            Form::Parts(parts) => parts.table_mut(hash).find_mut(hash, wanted),
        }
    }

    /// Adds a value that is not in the table. `hash_of` must agree with the hashes in other calls.
    pub(crate) fn insert_unique(&mut self, value: T, hash_of: impl Fn(&T) -> u64) {
        match &mut self.0 {
            Form::Few(few) if few.len() < Self::FEW => {
                few.reserve_exact(1);
                few.push(value);
            }
            Form::Few(few) => {
                let mut table = HashTable::with_capacity(few.len() + 1);
                for value in mem::take(few).into_iter().chain(iter::once(value)) {
                    table.insert_unique(hash_of(&value), value, &hash_of);
                }
                self.0 = Form::Whole(Box::new(table));
            }
            Form::Whole(table) if table.len() < PARTITION_AT => {
                table.insert_unique(hash_of(&value), value, hash_of);
            }
            Form::Whole(table) => {
                self.0 = Form::Parts(Box::new(Parts::of(mem::take(&mut **table), &hash_of)));
                self.insert_unique(value, hash_of);
            }
            Form::Parts(parts) => {
                let hash = hash_of(&value);
                parts.table_mut(hash).insert_unique(hash, value, hash_of);
                parts.len += 1;
            }
        }
    }

    /// Removes the value that hashes to `hash` and satisfies `wanted`, which is also asked about values with other hashes.
    pub(crate) fn remove(&mut self, hash: u64, wanted: impl FnMut(&T) -> bool) -> Option<T> {
        let removed = match &mut self.0 {
            Form::Few(few) => {
                let removed = few.swap_remove(few.iter().position(wanted)?);
                few.shrink_to_fit();
                removed
            }
            Form::Whole(table) => table.find_entry(hash, wanted).ok()?.remove().0,
            Form::Parts(parts) => {
                let removed = parts.table_mut(hash).find_entry(hash, wanted).ok()?.remove().0;
                parts.len -= 1;
                removed
            }
        };
        if self.is_empty() {
            // Frees the memory of a large table.
            *self = Self::default();
        }
        Some(removed)
    }

    /// Gives back memory of the part of this hash if most of it is free, as after a peak. `hash_of` must agree with the hashes
    /// in other calls.
    pub(crate) fn shrink(&mut self, hash: u64, hash_of: impl Fn(&T) -> u64) {
        let table = match &mut self.0 {
            Form::Few(_) => return,
            Form::Whole(table) => &mut **table,
            Form::Parts(parts) => parts.table_mut(hash),
        };
        if table.len() < table.num_buckets() / 8 {
            table.shrink_to(2 * table.len(), hash_of);
        }
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Form::Few(few) => few.len(),
            Form::Whole(table) => table.len(),
            Form::Parts(parts) => parts.len,
        }
    }

    /// True if the table is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All values, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let (few, tables) = match &self.0 {
            Form::Few(few) => (few.as_slice(), &[][..]),
            Form::Whole(table) => (&[][..], slice::from_ref(&**table)),
            Form::Parts(parts) => (&[][..], &parts.tables[..]),
        };
        few.iter().chain(tables.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::BuildHasher;

    use foldhash::quality::RandomState;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::hash::{Seed, spread};
    use super::*;

    fn fill_and_empty(hash_of: impl Fn(&usize) -> u64 + Copy) {
        let mut table = Table::default();
        let size = 5 * PARTITION_AT;
        for value in 0..size {
            table.insert_unique(value, hash_of);
        }
        assert_eq!((table.len(), table.iter().count()), (size, size));
        let Form::Parts(parts) = &table.0 else { panic!("one table for {size} values") };
        let largest = parts.tables.iter().map(HashTable::len).max().unwrap();
        assert!(largest < 2 * size / PARTS, "{largest} of {size} in one part");
        for value in 0..size {
            *table.find_mut(hash_of(&value), |other| *other == value).unwrap() = value;
            assert!(table.find(hash_of(&value), |other| *other == value).is_some());
            assert_eq!(table.remove(hash_of(&value), |other| *other == value), Some(value));
            assert_eq!(table.remove(hash_of(&value), |other| *other == value), None);
        }
        assert!(table.is_empty() && matches!(table.0, Form::Few(_)));
    }

    #[test]
    fn values_spread_evenly_over_parts_for_both_kinds_of_hash() {
        let (long, short) = (RandomState::default(), Seed::default());
        fill_and_empty(|value| long.hash_one(value));
        fill_and_empty(|value| spread(short.short(value)));
    }

    #[test]
    fn a_table_keeps_no_memory_of_a_peak() {
        let seed = RandomState::default();
        let hash_of = |value: &usize| seed.hash_one(value);
        let (mut table, size) = (Table::default(), 5 * PARTITION_AT);
        for value in 0..size {
            table.insert_unique(value, hash_of);
        }
        for value in PARTS..size {
            assert_eq!(table.remove(hash_of(&value), |other| *other == value), Some(value));
            table.shrink(hash_of(&value), hash_of);
        }
        let Form::Parts(parts) = &table.0 else { panic!("one table for {size} values") };
        let buckets: usize = parts.tables.iter().map(HashTable::num_buckets).sum();
        assert!(buckets < size / 8, "{buckets}");
        assert!((0..PARTS).all(|value| table.find(hash_of(&value), |other| *other == value).is_some()));
    }

    #[test]
    fn a_table_takes_three_words() {
        assert_eq!(size_of::<Table<u64>>(), size_of::<[usize; 3]>());
    }

    /// So large that only eight are few.
    type Large = [u64; 16];

    /// Yields only three hashes, so that values collide.
    fn hash(value: &Large) -> u64 {
        value[0] % 3
    }

    proptest! {
        #[test]
        fn it_behaves_like_a_btree_set(actions in vec((proptest::bool::weighted(0.7), 0..40_u64), 0..120)) {
            let (mut table, mut model) = (Table::<Large>::default(), BTreeSet::new());
            for (insert, number) in actions {
                let value = [number; 16];
                let is_value = |other: &Large| *other == value;
                if !insert {
                    prop_assert_eq!(table.remove(hash(&value), is_value).is_some(), model.remove(&value));
                    table.shrink(hash(&value), hash);
                } else if model.insert(value) {
                    table.insert_unique(value, hash);
                }
                let held: BTreeSet<Large> = table.iter().copied().collect();
                prop_assert_eq!(&held, &model);
                prop_assert_eq!((table.len(), table.is_empty()), (model.len(), model.is_empty()));
                for number in 0..40 {
                    let value = [number; 16];
                    let is_value = |other: &Large| *other == value;
                    prop_assert_eq!(table.find(hash(&value), is_value), model.get(&value));
                    prop_assert_eq!(table.find_mut(hash(&value), is_value).map(|found| *found), model.get(&value).copied());
                }
            }
        }
    }
}
