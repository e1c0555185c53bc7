//! A set whose usual size is one.

use std::mem;

use super::split::Split;

/// A non-empty set of values that are told apart by what the caller hashes and compares.
///
/// Most Services have one slice, and labels such as the pod name of a stateful set are carried by one pod. A single value is
/// kept without a table, which saves about a hundred bytes.
///
/// Cost: adding, replacing and removing are flat, whatever the size.
pub(super) enum Few<T> {
    One(T),
    Many(Box<Split<T>>),
}

impl<T> Few<T> {
    /// Adds a value that is not in the set. `hash_of` must agree with the hashes of later calls.
    pub(super) fn insert_unique(&mut self, value: T, hash_of: impl Fn(&T) -> u64) {
        if let Self::One(_) = self {
            let one = mem::replace(self, Self::Many(Box::new(Split::with_capacity(2))));
            if let (Self::Many(table), Self::One(first)) = (&mut *self, one) {
                table.insert_unique(hash_of(&first), first, &hash_of);
            }
        }
        if let Self::Many(table) = self {
            table.insert_unique(hash_of(&value), value, hash_of);
        }
    }

    /// The value that hashes to `hash` and is `wanted`.
    pub(super) fn find_mut(&mut self, hash: u64, wanted: impl Fn(&T) -> bool) -> Option<&mut T> {
        match self {
            Self::One(value) => wanted(value).then_some(value),
            Self::Many(table) => table.find_mut(hash, wanted),
        }
    }

    /// Removes the value that hashes to `hash` and is `wanted`. Returns true if the set has to go as well, because
    /// nothing else is in it.
    pub(super) fn remove(&mut self, hash: u64, wanted: impl Fn(&T) -> bool) -> bool {
        match self {
            Self::One(value) => wanted(value),
            Self::Many(table) => {
                table.remove(hash, wanted);
                table.is_empty()
            }
        }
    }

    /// The number of values.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(table) => table.len(),
        }
    }

    /// Every value, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let (one, many) = match self {
            Self::One(value) => (Some(value), None),
            Self::Many(table) => (None, Some(table.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Few hashes, so that values collide.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as tables call it")]
    fn hash(value: &u8) -> u64 {
        u64::from(value % 3)
    }

    #[test]
    fn a_single_value_costs_a_word_more_than_itself() {
        assert_eq!(size_of::<Few<usize>>(), 2 * size_of::<usize>());
    }

    proptest! {
        #[test]
        fn it_holds_what_a_set_holds(actions in vec((any::<bool>(), 0..12_u8), 0..60)) {
            let (mut few, mut model) = (None::<Few<u8>>, BTreeSet::new());
            for (insert, value) in actions {
                if insert {
                    if model.insert(value) {
                        match &mut few {
                            Some(few) => few.insert_unique(value, hash),
                            None => few = Some(Few::One(value)),
                        }
                    }
                } else if few.as_mut().is_some_and(|few| few.remove(hash(&value), |other| *other == value)) {
                    few = None;
                    model.remove(&value);
                } else {
                    model.remove(&value);
                }
                let held: BTreeSet<u8> = few.iter().flat_map(|few| few.iter().copied()).collect();
                prop_assert_eq!(&held, &model);
                prop_assert_eq!(few.as_ref().map_or(0, Few::len), model.len());
                for value in 0..12 {
                    let found = few.as_mut().and_then(|few| few.find_mut(hash(&value), |other| *other == value));
                    prop_assert_eq!(found.copied(), model.get(&value).copied());
                }
            }
        }
    }
}
