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

/// The longest value that the API server accepts. Objects in files may have others, which are compared with none: that costs the
/// product of the lengths.
const MAX_VALUE: usize = 63;

/// The most values of a key among which a Service that selects pods looks for misspellings: in a namespace with thousands of
/// applications, that of each Service would look at all of them.
const MAX_VALUES: usize = 1_000;

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
        strsim::levenshtein(&self.wanted, self.found.as_deref().unwrap_or_default())
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
        let lists = self.lists(selector.iter()).unwrap_or_default();
        let Some((fewest, others)) = lists.split_first() else { return vec![] };
        fewest.iter().filter(|pod| others.iter().all(|pods| pods.contains(*pod))).cloned().collect()
    }

    /// The pods that lack one label of the selector or have it with another value, and have all others.
    ///
    /// A selector with a single label misses every pod of the namespace by one label; also with more, most of them may be
    /// as close. If more than a hundred pods are, only those count whose value may be a misspelling of the
    /// required one, or of which one contains the other, if the selector selects no pod. A selector that selects some looks for
    /// misspellings among a thousand values of a key, or none. Values longer than 63 bytes are not near misses.
    ///
    /// Cost: for each label, the number of its values, or a hundred pods.
    pub fn near_misses(&self, selector: &LabelSet) -> Vec<NearMiss> {
        let selects_none = self.selected(selector).is_empty();
        let resembles = |wanted: &str, found: &str| {
            misspelt(wanted.as_bytes(), found.as_bytes()) || selects_none && is_part(wanted, found)
        };
        let max_values = if selects_none { usize::MAX } else { MAX_VALUES };
        selector
            .iter()
            .filter(|(_, wanted)| wanted.len() <= MAX_VALUE)
            .flat_map(|(key, wanted)| self.missed_by(selector, key, wanted, max_values, resembles))
            .collect()
    }

    fn missed_by(
        &self,
        selector: &LabelSet,
        key: &Arc<str>,
        wanted: &Arc<str>,
        max_values: usize,
        resembles: impl Fn(&str, &str) -> bool,
    ) -> Vec<NearMiss> {
        let miss = |pod: &Arc<str>, found| {
            let (pod, key, wanted) = (Arc::clone(pod), Arc::clone(key), Arc::clone(wanted));
            NearMiss { pod, key, wanted, found }
        };
        let Some(others) = self.lists(selector.iter().filter(|(other, _)| *other != key)) else {
            return vec![];
        };
        let Some((fewest, rest)) = others.split_first().filter(|(fewest, _)| fewest.len() <= MAX_ALIKE)
        else {
            let values = self.pods.get(key).filter(|values| values.len() <= max_values).into_iter().flatten();
            let similar = values.filter(|(value, _)| value.len() <= MAX_VALUE && resembles(wanted, value));
            let pods = similar.flat_map(|(value, pods)| pods.iter().map(move |pod| (value, pod)));
            let missed = pods.filter(|(_, pod)| others.iter().all(|pods| pods.contains(*pod)));
            return missed.map(|(value, pod)| miss(pod, Some(Arc::clone(value)))).collect();
        };
        let alike = fewest.iter().filter(|pod| rest.iter().all(|pods| pods.contains(*pod)));
        let found = |pod: &Arc<str>| self.by_pod.get(pod).and_then(|labels| labels.get(key));
        let is_missed = |found: Option<&str>| {
            found != Some(&**wanted) && found.is_none_or(|value| value.len() <= MAX_VALUE)
        };
        let missed = alike.map(|pod| (pod, found(pod))).filter(|(_, found)| is_missed(*found));
        missed.map(|(pod, found)| miss(pod, found.map(Arc::from))).collect()
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

/// True if a value may be a misspelling of another one: not equal, but equal except for case, or for two characters that are
/// not just other digits. Short values have too many neighbours.
fn misspelt(wanted: &[u8], found: &[u8]) -> bool {
    let differs = |one: &u8, other: &u8| one != other && !(one.is_ascii_digit() && other.is_ascii_digit());
    let other_number =
        wanted.len() == found.len() && !wanted.iter().zip(found).any(|(one, other)| differs(one, other));
    let is_close = wanted.len() > 3 && wanted.len().abs_diff(found.len()) <= 2 && is_within(wanted, found, 2);
    !other_number && (is_close || wanted.eq_ignore_ascii_case(found))
}

/// True if at most `edits` characters are to be inserted, removed or replaced. Unlike the distance, this ends at the first
/// characters of most texts.
pub(crate) fn is_within(one: &[u8], other: &[u8], edits: usize) -> bool {
    let same = one.iter().zip(other).take_while(|(first, second)| first == second).count();
    let [one, other] = [one, other].map(|text| text.get(same..).unwrap_or_default());
    match (one.split_first(), other.split_first()) {
        (None, None) => true,
        _ if edits == 0 => false,
        (None, Some(_)) => other.len() <= edits,
        (Some(_), None) => one.len() <= edits,
        (Some((_, rest)), Some((_, other_rest))) => {
            is_within(rest, other_rest, edits - 1)
                || is_within(rest, other, edits - 1)
                || is_within(one, other_rest, edits - 1)
        }
    }
}

/// True if one value is a part of the other, and not equal to it.
fn is_part(wanted: &str, found: &str) -> bool {
    let long_enough = wanted.len().min(found.len()) >= 3;
    wanted != found && long_enough && (wanted.contains(found) || found.contains(wanted))
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
        let mut labels = labels(&[
            ("case", &[("app", "Web")]),
            ("typo", &[("app", "weeb-shop")]),
            ("part", &[("app", "web-shop-2")]),
            ("other", &[("app", "database")]),
        ]);
        let names = |labels: &Labels, value| -> Vec<String> {
            misses(labels, &[("app", value)]).into_iter().map(|miss| miss.0).collect()
        };
        assert_eq!(names(&labels, "web-shop"), ["part", "typo"]);
        assert_eq!(names(&labels, "web"), ["case", "part"]);
        // A longer name is another application, if there is one of this name.
        labels.add(&Arc::from("right"), &[("app", "web")].into_iter().collect());
        assert_eq!(names(&labels, "web"), ["case"]);
    }

    #[test]
    fn a_selector_that_selects_pods_looks_at_a_thousand_values() {
        let names: Vec<String> = (0..MAX_VALUES).map(|number| format!("{number}")).collect();
        let mut labels = Labels::default();
        labels.add(&Arc::from("typo"), &[("app", "weeb")].into_iter().collect());
        for name in &names {
            labels.add(&Arc::from(name.as_str()), &[("app", name.as_str())].into_iter().collect());
        }
        assert_eq!(misses(&labels, &[("app", "web-")]).len(), 1, "it selects none");
        labels.add(&Arc::from("right"), &[("app", "web-")].into_iter().collect());
        assert_eq!(misses(&labels, &[("app", "web-")]), []);
    }

    #[test]
    fn a_misspelling_differs_in_two_characters() {
        for (wanted, found, expected) in [
            ("login", "login", false),
            ("login", "Login", true),
            ("login", "lgoin", true),
            ("login", "logins", true),
            ("login", "logging", true),
            ("login", "signin", false),
            ("web", "wbe", false),
            ("web", "WEB", true),
            ("web-12", "web-21", false),
            ("web-12", "web-", true),
        ] {
            assert_eq!(misspelt(wanted.as_bytes(), found.as_bytes()), expected, "{wanted} {found}");
        }
    }

    /// Recursion for each character would end the process.
    #[test]
    fn long_texts_are_compared_in_a_loop() {
        let long = "a".repeat(1 << 20);
        assert!(is_within(long.as_bytes(), long.as_bytes(), 0));
        assert!(is_within(long.as_bytes(), format!("{long}b").as_bytes(), 1));
        assert!(!is_within(long.as_bytes(), format!("{long}bb").as_bytes(), 1));
    }

    #[test]
    fn values_that_no_object_of_a_cluster_has_are_no_near_misses() {
        let [longest, longer] = [63, 64].map(|length| "a".repeat(length));
        let labels = labels(&[
            ("longest", &[("app", longest.as_str()), ("tier", "front")]),
            ("longer", &[("app", longer.as_str()), ("tier", "front")]),
        ]);
        let names = |selector: &[(&str, &str)]| -> Vec<String> {
            misses(&labels, selector).into_iter().map(|miss| miss.0).collect()
        };
        assert_eq!(names(&[("app", &longest[1..])]), ["longest"]);
        assert_eq!(names(&[("app", "web"), ("tier", "front")]), ["longest"]);
        assert!(names(&[("app", "a".repeat(65).as_str())]).is_empty());
    }

    #[test]
    fn removed_pods_leave_the_index() {
        let mut labels = labels(&[("a", &[("app", "web")])]);
        labels.remove("a", &[("app", "web")].into_iter().collect());
        assert!(labels.pods.is_empty() && labels.by_pod.is_empty());
    }
}
