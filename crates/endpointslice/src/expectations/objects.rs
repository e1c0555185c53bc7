//! Values by uid, of which there is usually one.

use std::collections::HashMap;

use crate::model::Uid;

/// Values by uid. The first is kept without a table, which takes 300 bytes also for one: most Services have one slice.
#[derive(Debug)]
pub(super) struct Objects<V> {
    first: Option<(Uid, V)>,
    #[expect(clippy::box_collection, reason = "most Services have none, and a table is six words")]
    others: Option<Box<HashMap<Uid, V>>>,
}

impl<V> Default for Objects<V> {
    fn default() -> Self {
        Self { first: None, others: None }
    }
}

impl<V> Objects<V> {
    pub(super) fn get(&self, uid: &Uid) -> Option<&V> {
        match &self.first {
            Some((first, value)) if first == uid => Some(value),
            _ => self.others.as_ref()?.get(uid),
        }
    }

    pub(super) fn get_mut(&mut self, uid: &Uid) -> Option<&mut V> {
        match &mut self.first {
            Some((first, value)) if first == uid => Some(value),
            _ => self.others.as_mut()?.get_mut(uid),
        }
    }

    /// Adds or replaces a value.
    pub(super) fn insert(&mut self, uid: Uid, value: V) {
        if let Some(present) = self.get_mut(&uid) {
            *present = value;
        } else if self.first.is_none() {
            self.first = Some((uid, value));
        } else {
            self.others.get_or_insert_default().insert(uid, value);
        }
    }

    pub(super) fn remove(&mut self, uid: &Uid) -> Option<V> {
        let mut removed = None;
        if let Some((_, value)) = self.first.take_if(|(first, _)| first == uid) {
            removed = Some(value);
        } else if let Some(others) = &mut self.others {
            removed = others.remove(uid);
        }
        self.others.take_if(|others| others.is_empty());
        removed
    }

    /// Keeps the values for which this is true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Uid, &mut V) -> bool) {
        self.first.take_if(|(uid, value)| !keep(uid, value));
        if let Some(others) = &mut self.others {
            others.retain(&mut keep);
        }
        self.others.take_if(|others| others.is_empty());
    }

    /// The values, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Uid, &V)> {
        let first = self.first.iter().map(|(uid, value)| (uid, value));
        first.chain(self.others.iter().flat_map(|others| others.iter()))
    }

    /// The values, mutable.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let first = self.first.iter_mut().map(|(_, value)| value);
        first.chain(self.others.iter_mut().flat_map(|others| others.values_mut()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_like_a_table(actions in vec((0..4_u8, 0..4_u8, any::<u8>()), 0..40)) {
            let (mut objects, mut model) = (Objects::default(), HashMap::new());
            for (action, uid, value) in actions {
                let uid = Uid::from(uid.to_string().as_str());
                match action {
                    0 => prop_assert_eq!(objects.remove(&uid), model.remove(&uid)),
                    1 => {
                        objects.retain(|other, _| *other != uid);
                        model.remove(&uid);
                    }
                    2 => {
                        for value in objects.values_mut().chain(model.values_mut()) {
                            *value ^= 1;
                        }
                    }
                    _ => {
                        objects.insert(uid.clone(), value);
                        model.insert(uid, value);
                    }
                }
                let held: HashMap<Uid, u8> = objects.iter().map(|(uid, value)| (uid.clone(), *value)).collect();
                prop_assert_eq!(&held, &model);
                prop_assert_eq!(objects.is_empty(), model.is_empty());
                for (uid, value) in &model {
                    prop_assert_eq!(objects.get(uid), Some(value));
                    prop_assert_eq!(objects.get_mut(uid), Some(&mut value.clone()));
                }
            }
        }
    }
}
