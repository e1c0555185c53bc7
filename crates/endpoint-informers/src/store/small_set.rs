//! A set that usually holds one value, or a few.

use std::{mem, slice};

use super::table::Table;

/// A non-empty set of values, identified by the hash and the comparison that the caller supplies.
///
/// Most Services have one slice, and a label such as the pod name of a `StatefulSet` is on one pod. One value is kept
/// without a table.
///
/// Cost: adding, replacing and removing are constant, whatever the size.
pub(crate) enum SmallSet<T> {
    /// The only value.
    One(T),
    /// More, or those that are left of them. Behind a pointer, so that the set takes two words.
    Many(Box<Table<T>>),
}

impl<T> SmallSet<T> {
    /// Adds a value that is not in the set. `hash_of` must agree with the hashes in later calls.
    pub(crate) fn insert_unique(&mut self, value: T, hash_of: impl Fn(&T) -> u64) {
        if let Self::One(_) = self
            && let Self::One(first) = mem::replace(self, Self::Many(Box::default()))
            && let Self::Many(table) = self
        {
            table.insert_unique(first, &hash_of);
        }
        if let Self::Many(table) = self {
            table.insert_unique(value, hash_of);
        }
    }

    /// The value that hashes to `hash` and satisfies `wanted`, which is also asked about values with other hashes.
    pub(crate) fn find_mut(&mut self, hash: u64, wanted: impl Fn(&T) -> bool) -> Option<&mut T> {
        match self {
            Self::One(value) => wanted(value).then_some(value),
            Self::Many(table) => table.find_mut(hash, wanted),
        }
    }

    /// Removes the value that [`Self::find_mut`] would find. Returns true if nothing else is in the set, so that the
    /// caller must remove the set itself.
    pub(crate) fn remove(&mut self, hash: u64, wanted: impl Fn(&T) -> bool) -> bool {
        match self {
            Self::One(value) => wanted(value),
            Self::Many(table) => {
                table.remove(hash, wanted);
                table.is_empty()
            }
        }
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(table) => table.len(),
        }
    }

    /// All values, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let (one, many) = match self {
            Self::One(value) => (slice::from_ref(value), None),
            Self::Many(table) => (&[][..], Some(table.iter())),
        };
        one.iter().chain(many.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_costs_a_word_more_than_itself() {
        assert_eq!(size_of::<SmallSet<usize>>(), 2 * size_of::<usize>());
    }
}
