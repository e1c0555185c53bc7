//! Label sets that many objects share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// One label: key and value.
pub(crate) type Label = (Arc<str>, Arc<str>);

/// An immutable set of labels, sorted by key: 16 bytes, shared by every object that carries the same labels.
///
/// Pods of one workload have equal labels; an [`Interner`](super::Interner) makes them one allocation, and comparing
/// two sets from the same interner is then usually one pointer comparison.
#[derive(Clone, Default)]
pub struct LabelSet(Arc<[Label]>);

impl LabelSet {
    pub(crate) fn from_sorted(labels: Vec<Label>) -> Self {
        debug_assert!(labels.is_sorted_by(|(earlier, _), (later, _)| earlier < later));
        Self(labels.into())
    }

    /// The value of `key`. Cost: logarithmic in the number of labels.
    pub fn get(&self, key: &str) -> Option<&str> {
        let position = self.0.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        self.0.get(position).map(|(_, value)| &**value)
    }

    /// Labels in key order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Arc<str>)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if every label of `self`, read as an equality selector, is also in `labels`.
    ///
    /// An empty selector selects every object. Kubernetes treats a Service with an empty selector as one without; the
    /// caller has to do that.
    pub fn selects(&self, labels: &Self) -> bool {
        self.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    /// True if both are the same allocation, which implies that they are equal.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// An address that is unique among the label sets alive: two sets from one interner are equal exactly if their
    /// identities are.
    pub fn identity(&self) -> usize {
        self.0.as_ptr().addr()
    }

    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl PartialEq for LabelSet {
    fn eq(&self, other: &Self) -> bool {
        self.same(other) || self.0 == other.0
    }
}

impl Eq for LabelSet {}

impl fmt::Debug for LabelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for LabelSet {
    /// Later values of a key win, as in a map.
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(labels: I) -> Self {
        let map: BTreeMap<&str, &str> = labels.into_iter().collect();
        Self::from_sorted(map.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_selects_supersets() {
        let labels: LabelSet = [("app", "web"), ("tier", "front")].into_iter().collect();
        let selects =
            |selector: &[(&str, &str)]| selector.iter().copied().collect::<LabelSet>().selects(&labels);
        assert!(selects(&[("app", "web")]));
        assert!(selects(&[("tier", "front"), ("app", "web")]));
        assert!(!selects(&[("app", "db")]));
        assert!(!selects(&[("app", "web"), ("missing", "")]));
        assert!(selects(&[]));
    }
}
