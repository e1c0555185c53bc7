//! The pods that a selector selects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use endpointslice::model::LabelSet;

/// The labels of the pods of a namespace.
#[derive(Default)]
pub struct Labels {
    /// Pods by key and value.
    pods: BTreeMap<Arc<str>, BTreeMap<Arc<str>, BTreeSet<Arc<str>>>>,
}

impl Labels {
    pub(super) fn add(&mut self, pod: &Arc<str>, labels: &LabelSet) {
        for (key, value) in labels.iter() {
            let values = self.pods.entry(Arc::clone(key)).or_default();
            values.entry(Arc::clone(value)).or_default().insert(Arc::clone(pod));
        }
    }

    pub(super) fn remove(&mut self, pod: &str, labels: &LabelSet) {
        for (key, value) in labels.iter() {
            let Some(values) = self.pods.get_mut(key) else { continue };
            let Some(pods) = values.get_mut(value) else { continue };
            pods.remove(pod);
            if pods.is_empty() {
                values.remove(value);
            }
            if values.is_empty() {
                self.pods.remove(key);
            }
        }
    }

    /// The names of the pods that a selector selects, in order; none for a selector without labels.
    ///
    /// Cost: that of the label of the selector that the fewest pods have, times the number of labels.
    pub fn selected(&self, selector: &LabelSet) -> Vec<Arc<str>> {
        let mut lists: Vec<&BTreeSet<Arc<str>>> = Vec::with_capacity(selector.len());
        for (key, value) in selector.iter() {
            let Some(pods) = self.having(key, value) else { return vec![] };
            lists.push(pods);
        }
        lists.sort_by_key(|pods| pods.len());
        let Some((fewest, others)) = lists.split_first() else { return vec![] };
        fewest.iter().filter(|pod| others.iter().all(|pods| pods.contains(*pod))).cloned().collect()
    }

    fn having(&self, key: &str, value: &str) -> Option<&BTreeSet<Arc<str>>> {
        self.pods.get(key)?.get(value)
    }
}
