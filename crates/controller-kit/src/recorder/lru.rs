//! A map of bounded size that evicts the least recently used entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;

/// Up to `capacity` values by key.
///
/// Cost: O(log n) per [`touch`](Self::touch); the keys are stored once.
#[derive(Debug)]
pub(super) struct Lru<V> {
    capacity: usize,
    touches: u64,
    values: HashMap<Arc<str>, (u64, V), foldhash::fast::RandomState>,
    /// The keys, by their last touch.
    by_age: BTreeMap<u64, Arc<str>>,
}

impl<V: Default> Lru<V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, touches: 0, values: HashMap::default(), by_age: BTreeMap::new() }
    }

    /// The value of `key`, inserted with its default if there is none; now the most recently used.
    pub(super) fn touch(&mut self, key: &str) -> &mut V {
        self.touches += 1;
        let known = self.values.get(key).map(|(touched, _)| *touched);
        let key = known.and_then(|touched| self.by_age.remove(&touched)).unwrap_or_else(|| Arc::from(key));
        if known.is_none() && self.values.len() >= self.capacity {
            self.evict_oldest();
        }
        self.by_age.insert(self.touches, Arc::clone(&key));
        let (touched, value) = self.values.entry(key).or_default();
        *touched = self.touches;
        value
    }

    fn evict_oldest(&mut self) {
        if let Some((_, key)) = self.by_age.pop_first() {
            self.values.remove(&key);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.values.len(), self.by_age.len());
        self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_least_recently_used_is_evicted() {
        let mut lru = Lru::new(2);
        *lru.touch("a") = 1;
        *lru.touch("b") = 2;
        assert_eq!(*lru.touch("a"), 1);
        *lru.touch("c") = 3;
        assert_eq!(*lru.touch("a"), 1, "touched after b");
        assert_eq!(*lru.touch("b"), 0, "evicted");
        assert_eq!(*lru.touch("c"), 0, "evicted for b");
    }

    proptest! {
        #[test]
        fn agrees_with_a_list_in_order(keys in prop::collection::vec(0_u8..8, 0..64), capacity in 1_usize..6) {
            let (mut lru, mut model) = (Lru::<u32>::new(capacity), Vec::<(u8, u32)>::new());
            for key in keys {
                let known = model.iter().position(|(other, _)| *other == key).map(|at| model.remove(at));
                let count = known.map_or(1, |(_, count)| count + 1);
                model.push((key, count));
                if model.len() > capacity {
                    model.remove(0);
                }
                let value = lru.touch(&key.to_string());
                *value += 1;
                prop_assert_eq!(*value, count);
                prop_assert_eq!(lru.len(), model.len());
            }
        }
    }
}
