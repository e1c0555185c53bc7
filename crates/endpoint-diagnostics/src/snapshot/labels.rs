//! The pods that a selector selects, and those that it misses by one label.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use endpointslice::model::LabelSet;

/// The labels of the pods of a namespace.
#[derive(Default)]
pub struct Labels {
    /// Pods by key and value.
    pods: BTreeMap<Arc<str>, BTreeMap<Arc<str>, BTreeSet<Arc<str>>>>,
    by_pod: BTreeMap<Arc<str>, LabelSet>,
}

/// The most pods with all other labels of a selector among which every pod is a near miss. If there are more, such as all
/// pods of an environment, a pod must have a similar value.
const MAX_ALIKE: usize = 100;

/// A pod that has all labels of a selector but one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearMiss {
    /// The pod.
    pub pod: Arc<str>,
    /// The key of the label that differs.
    pub key: Arc<str>,
    /// The value that the selector requires.
    pub wanted: Arc<str>,
    /// The value that the pod has; none if it lacks the label.
    pub found: Option<Arc<str>>,
}

impl NearMiss {
    /// The number of characters by which the value differs, which orders near misses; that of a missing label is the
    /// length of the value.
    pub fn distance(&self) -> usize {
        let found = self.found.as_deref().unwrap_or_default();
        let near = (0..=CLOSE).find(|edits| is_within(&self.wanted, found, *edits));
        near.unwrap_or_else(|| distance(&self.wanted, found))
    }
}

impl Labels {
    pub(super) fn add(&mut self, pod: &Arc<str>, labels: &LabelSet) {
        self.by_pod.insert(Arc::clone(pod), labels.clone());
        for (key, value) in labels.iter() {
            let values = self.pods.entry(Arc::clone(key)).or_default();
            values.entry(Arc::clone(value)).or_default().insert(Arc::clone(pod));
        }
    }

    pub(super) fn remove(&mut self, pod: &str, labels: &LabelSet) {
        self.by_pod.remove(pod);
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
        self.having_all(selector.iter())
    }

    /// The pods that lack one label of the selector or have it with another value, and have all others.
    ///
    /// A selector with a single label misses every pod of the namespace by one label; also with more, most of them may be
    /// as close. If more than a hundred pods are, only those count whose value resembles the required one: equal but for
    /// case or for two characters, or with one of them as a part of the other.
    ///
    /// Cost: for each label, the number of its values, or a hundred pods.
    pub fn near_misses(&self, selector: &LabelSet) -> Vec<NearMiss> {
        selector.iter().flat_map(|(key, wanted)| self.missed_by(selector, key, wanted)).collect()
    }

    fn missed_by(&self, selector: &LabelSet, key: &Arc<str>, wanted: &Arc<str>) -> Vec<NearMiss> {
        let miss = |pod: &Arc<str>, found| {
            let (pod, key, wanted) = (Arc::clone(pod), Arc::clone(key), Arc::clone(wanted));
            NearMiss { pod, key, wanted, found }
        };
        let Some(others) = self.lists(selector.iter().filter(|(other, _)| *other != key)) else {
            return vec![];
        };
        let Some((fewest, rest)) = others.split_first().filter(|(fewest, _)| fewest.len() <= MAX_ALIKE)
        else {
            let values = self.pods.get(key).into_iter().flatten();
            let similar = values.filter(|(value, _)| resembles(wanted, value));
            let pods = similar.flat_map(|(value, pods)| pods.iter().map(move |pod| (value, pod)));
            let missed = pods.filter(|(_, pod)| others.iter().all(|pods| pods.contains(*pod)));
            return missed.map(|(value, pod)| miss(pod, Some(Arc::clone(value)))).collect();
        };
        let alike = fewest.iter().filter(|pod| rest.iter().all(|pods| pods.contains(*pod)));
        let found = |pod: &Arc<str>| self.by_pod.get(pod).and_then(|labels| labels.get(key));
        let missed = alike.map(|pod| (pod, found(pod))).filter(|(_, found)| *found != Some(&**wanted));
        missed.map(|(pod, found)| miss(pod, found.map(Arc::from))).collect()
    }

    fn having_all<'a>(&self, labels: impl Iterator<Item = (&'a Arc<str>, &'a Arc<str>)>) -> Vec<Arc<str>> {
        let lists = self.lists(labels).unwrap_or_default();
        let Some((fewest, others)) = lists.split_first() else { return vec![] };
        fewest.iter().filter(|pod| others.iter().all(|pods| pods.contains(*pod))).cloned().collect()
    }

    /// The pods that have each label, the shortest list first; none if no pod has one of them.
    fn lists<'a>(
        &self,
        mut labels: impl Iterator<Item = (&'a Arc<str>, &'a Arc<str>)>,
    ) -> Option<Vec<&BTreeSet<Arc<str>>>> {
        let mut lists: Vec<_> = labels.try_fold(vec![], |mut lists, (key, value)| {
            lists.push(self.pods.get(key)?.get(value)?);
            Some(lists)
        })?;
        lists.sort_by_key(|pods| pods.len());
        Some(lists)
    }
}

/// True if a value may be a misspelling of another one, and is not equal to it.
fn resembles(wanted: &str, found: &str) -> bool {
    if wanted == found {
        return false;
    }
    let contains = wanted.len().min(found.len()) >= 3 && (wanted.contains(found) || found.contains(wanted));
    let may_be_close = wanted.len() > 3 && wanted.len().abs_diff(found.len()) <= 2;
    contains || wanted.eq_ignore_ascii_case(found) || may_be_close && is_within(wanted, found, CLOSE)
}

/// The distance up to which values resemble each other.
const CLOSE: usize = 2;

/// True if no more than this number of characters has to be inserted, removed or replaced.
///
/// Cost: that of the common beginning, if the values differ in more. Thousands of values are compared with each other.
fn is_within(one: &str, other: &str, edits: usize) -> bool {
    let (mut one, mut other) = (one.chars(), other.chars());
    loop {
        let (one_here, other_here) = (one.as_str(), other.as_str());
        match (one.next(), other.next()) {
            (None, _) => return other_here.chars().count() <= edits,
            (_, None) => return one_here.chars().count() <= edits,
            (Some(character), Some(candidate)) if character == candidate => {}
            _ if edits == 0 => return false,
            _ => {
                let (one, other, edits) = (one.as_str(), other.as_str(), edits - 1);
                return is_within(one, other, edits)
                    || is_within(one, other_here, edits)
                    || is_within(one_here, other, edits);
            }
        }
    }
}

/// The number of characters to insert, remove or replace (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, character) in one.chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, candidate) in row.iter_mut().skip(1).zip(&other) {
            let replaced = diagonal + usize::from(*candidate != character);
            diagonal = *cell;
            left = replaced.min(*cell + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pods: &[(&str, &[(&str, &str)])]) -> Labels {
        let mut labels = Labels::default();
        for (name, set) in pods {
            labels.add(&Arc::from(*name), &set.iter().copied().collect());
        }
        labels
    }

    fn misses(labels: &Labels, selector: &[(&str, &str)]) -> Vec<(String, String, Option<String>)> {
        let found = labels.near_misses(&selector.iter().copied().collect());
        let line = |miss: NearMiss| {
            (miss.pod.to_string(), miss.key.to_string(), miss.found.map(|it| it.to_string()))
        };
        found.into_iter().map(line).collect()
    }

    #[test]
    fn a_pod_that_differs_in_one_label_is_a_near_miss() {
        let labels = labels(&[
            ("right", &[("app", "web"), ("tier", "front")]),
            ("other", &[("app", "web"), ("tier", "back")]),
            ("none", &[("app", "web")]),
            ("far", &[("app", "db"), ("tier", "back")]),
        ]);
        let selector = [("app", "web"), ("tier", "front")];
        assert_eq!(labels.selected(&selector.into_iter().collect()), ["right".into()]);
        let expected = [("none", None), ("other", Some("back"))];
        let expected =
            expected.map(|(pod, found)| (pod.to_owned(), "tier".to_owned(), found.map(str::to_owned)));
        assert_eq!(misses(&labels, &selector), expected);
    }

    #[test]
    fn a_selector_with_one_label_misses_only_values_that_resemble_it() {
        let labels = labels(&[
            ("case", &[("app", "Web")]),
            ("typo", &[("app", "weeb-shop")]),
            ("part", &[("app", "web-shop-2")]),
            ("other", &[("app", "database")]),
        ]);
        assert_eq!(
            misses(&labels, &[("app", "web-shop")]).iter().map(|miss| &*miss.0).collect::<Vec<_>>(),
            ["part", "typo"]
        );
        assert_eq!(
            misses(&labels, &[("app", "web")]).iter().map(|miss| &*miss.0).collect::<Vec<_>>(),
            ["case", "part"]
        );
    }

    #[test]
    fn removed_pods_leave_the_index() {
        let mut labels = labels(&[("a", &[("app", "web")])]);
        labels.remove("a", &[("app", "web")].into_iter().collect());
        assert!(labels.pods.is_empty() && labels.by_pod.is_empty());
    }

    #[test]
    fn the_distance_is_the_number_of_changed_characters() {
        for (one, other, expected) in [
            ("", "", 0),
            ("web", "web", 0),
            ("web", "", 3),
            ("web", "wbe", 2),
            ("web", "weeb", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_within_a_distance_is_as_close(one in "[abc]{0,6}", other in "[abc]{0,6}", edits in 0..4_usize) {
            proptest::prop_assert_eq!(is_within(&one, &other, edits), distance(&one, &other) <= edits);
        }
    }
}
