//! The objects of one resource, now and at an older version.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::log::Event;
use super::object::Stored;

/// The current objects of one resource in the order of their keys.
#[derive(Debug, Default)]
pub(super) struct Objects(BTreeMap<Arc<str>, Arc<Stored>>);

impl Objects {
    pub(super) fn get(&self, key: &str) -> Option<&Arc<Stored>> {
        self.0.get(key)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn put(&mut self, object: Arc<Stored>) {
        self.0.insert(object.shared_key(), object);
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Calls `visit` for the objects whose keys begin with `prefix` and are not less than `start`.
    pub(super) fn visit<'a>(
        &'a self,
        prefix: &str,
        start: &str,
        mut visit: impl FnMut(&'a Arc<Stored>) -> ControlFlow<()>,
    ) {
        for object in self.range(prefix, start) {
            if visit(object).is_break() {
                break;
            }
        }
    }

    /// As [`Self::visit`], before the changes of `events`, which are the newest of this resource, newest first.
    ///
    /// Cost: the events, and the objects that are visited.
    pub(super) fn visit_before<'a>(
        &'a self,
        events: impl Iterator<Item = &'a Event>,
        prefix: &str,
        start: &str,
        mut visit: impl FnMut(&'a Arc<Stored>) -> ControlFlow<()>,
    ) {
        // The oldest event of a key has the state before all of them. It comes last and stays.
        let mut changed = BTreeMap::<&str, Option<&Arc<Stored>>>::new();
        for event in events {
            let key = event.object.key();
            if key.starts_with(prefix) && key >= start {
                changed.insert(key, event.previous.as_ref());
            }
        }
        let mut changed = changed.into_iter().peekable();
        for object in self.range(prefix, start) {
            while let Some((_, before)) = changed.next_if(|(key, _)| *key < object.key()) {
                if before.is_some_and(|before| visit(before).is_break()) {
                    return;
                }
            }
            let before = match changed.next_if(|(key, _)| *key == object.key()) {
                Some((_, before)) => before,
                None => Some(object),
            };
            if before.is_some_and(|before| visit(before).is_break()) {
                return;
            }
        }
        for (_, before) in changed {
            if before.is_some_and(|before| visit(before).is_break()) {
                return;
            }
        }
    }

    fn range(&self, prefix: &str, start: &str) -> impl Iterator<Item = &Arc<Stored>> {
        let first = if start < prefix { prefix } else { start };
        self.0
            .range::<str, _>((Bound::Included(first), Bound::Unbounded))
            .map(|(_, object)| object)
            .take_while(move |object| object.key().starts_with(prefix))
    }
}
