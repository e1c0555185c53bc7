//! A map of bounded size that evicts the least recently used entry.

use std::collections::HashMap;

/// Up to `capacity` values by key.
///
/// Cost: O(1), and O(`capacity`) for a new key in a full map.
#[derive(Debug)]
pub(super) struct Lru<V> {
    capacity: usize,
    touches: u64,
    /// With the number of their last touch.
    pub(super) values: HashMap<String, (u64, V)>,
}

impl<V: Default> Lru<V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, touches: 0, values: HashMap::new() }
    }

    /// The value of `key`, inserted with its default if there is none; now the most recently used.
    pub(super) fn touch(&mut self, key: &str) -> &mut V {
        self.touches += 1;
        if self.values.len() >= self.capacity && !self.values.contains_key(key) {
            let oldest = self.values.iter().min_by_key(|(_, (touched, _))| *touched);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.values.remove(&oldest);
            }
        }
        let (touched, value) = self.values.entry(key.to_owned()).or_default();
        *touched = self.touches;
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
                prop_assert_eq!(lru.values.len(), model.len());
            }
        }
    }
}
