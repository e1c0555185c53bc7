//! The comparison of the slices of two clusters after a step, given their equality before it.
//!
//! Upstream appends endpoints in the random order of a Go map. While each group (Service, family, port list) has one
//! slice, that decides nothing. Once a group has several, it is chance which of them an endpoint is in, and so which of
//! them shrinks when the endpoint goes. The consequences are compared only as far as they are determined:
//!
//! | What | Must be equal |
//! |---|---|
//! | endpoints with all their fields, of each group | always |
//! | number and fill of a group's slices | if they were before, and the group had at most one slice or only grew |
//! | labels, owners, annotations with trigger times | if everything of the Service was, with at most one slice a group |
//! | number of writes for the Service | if the row above says so, or if all groups had equal fills and only grew |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::canonical::Canonical;
use random_operations::Chance;

/// The slices of a cluster, by Service and group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// Violations of invariants that hold for every controller.
    violations: Vec<String>,
    services: BTreeMap<String, Groups>,
}

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time=";

type Groups = BTreeMap<String, Group>;
type Lines = BTreeMap<String, usize>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Group {
    endpoints: Lines,
    /// The lines with hints, for Services whose hints are left out above.
    hinted: Lines,
    /// The number of slices of each fill.
    fills: Lines,
    metadata: Lines,
}

impl Group {
    fn slices(&self) -> usize {
        self.fills.values().sum()
    }

    /// Equality apart from hints that are left out.
    fn equals(&self, other: &Self) -> bool {
        (&self.endpoints, &self.fills, &self.metadata) == (&other.endpoints, &other.fills, &other.metadata)
    }

    fn only_grew(&self, after: &Self) -> bool {
        self.endpoints
            .iter()
            .all(|(line, count)| after.endpoints.get(line).is_some_and(|after| after >= count))
    }
}

impl View {
    pub(crate) fn new(slices: &Canonical, chance: &Chance, violations: Vec<String>) -> Self {
        let mut view = Self { violations, services: BTreeMap::new() };
        for (line, count) in slices.lines() {
            let (group, what) = line.split_once("] ").expect("a group ends with its ports");
            let (service, group) = group.split_once(' ').expect("a group begins with its Service");
            let service = service.rsplit('/').next().expect("a name");
            let of_endpoints = group.starts_with("Endpoints");
            let groups = view.services.entry(service.to_owned()).or_default();
            let group = groups.entry(format!("{group}]")).or_default();
            let mut what = what.to_owned();
            if chance.ended || of_endpoints && chance.reserved.contains(service) {
                remove(&mut what, TRIGGER_TIME);
            }
            let lines = if what.starts_with("endpoint ") {
                if chance.hints.contains(service) {
                    *group.hinted.entry(what.clone()).or_default() += count;
                    remove_hints(&mut what);
                }
                &mut group.endpoints
            } else if what.starts_with("slice of ") {
                &mut group.fills
            } else {
                if chance.trigger_times.contains(service) {
                    remove(&mut what, TRIGGER_TIME);
                }
                if chance.headless.contains(service) {
                    remove(&mut what, "service.kubernetes.io/headless=");
                }
                &mut group.metadata
            };
            *lines.entry(what).or_default() += count;
        }
        view
    }
}

fn remove_hints(line: &mut String) {
    if let Some(start) = line.find(" hints=") {
        line.truncate(start);
    }
}

/// Removes a label or an annotation without a trace. Neither has a value of several words.
fn remove(line: &mut String, key: &str) {
    if let Some(start) = line.find(key)
        && let Some(length) = line[start..].find(['}', ' '])
    {
        line.replace_range(start..start + length, "");
        *line = line.replace("{ ", "{").replace("  ", " ").replace(" }", "}");
    }
}

/// The slices under upstream and under ours.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pair {
    pub(crate) upstream: View,
    pub(crate) ours: View,
}

static NO_GROUPS: Groups = Groups::new();

impl Pair {
    /// The differences after a step that began with `before`; empty if there are none.
    pub(crate) fn differences(&self, before: &Self) -> String {
        let mut text = self.violations();
        for (service, name, upstream, ours) in self.all_groups() {
            let mut differ = |left: &Lines, right: &Lines| difference(&mut text, service, name, left, right);
            differ(&upstream.endpoints, &ours.endpoints);
            if before.determines_fills(self, service, name) {
                differ(&upstream.fills, &ours.fills);
            }
            if before.is_determined(service) {
                differ(&upstream.metadata, &ours.metadata);
            }
        }
        text
    }

    /// The same for overlapping changes, which determine endpoints only.
    pub(crate) fn endpoint_differences(&self) -> String {
        let mut text = self.violations();
        for (service, name, upstream, ours) in self.all_groups() {
            difference(&mut text, service, name, &upstream.endpoints, &ours.endpoints);
        }
        text
    }

    /// The endpoints that are not those of before, on either side.
    pub(crate) fn changed_endpoints(&self, before: &Self) -> String {
        let upstream = Self { upstream: before.upstream.clone(), ours: self.upstream.clone() };
        let ours = Self { upstream: before.ours.clone(), ours: self.ours.clone() };
        upstream.endpoint_differences() + &ours.endpoint_differences()
    }

    /// The number of groups.
    pub(crate) fn groups_in_total(&self) -> usize {
        self.upstream.services.values().map(Groups::len).sum()
    }

    /// True if the step from here to `after` determines the number of writes of a Service's slices.
    pub(crate) fn determines_writes(&self, after: &Self, service: &str) -> bool {
        if !self.determines_hints(service) || !after.determines_hints(service) {
            return false;
        }
        if self.is_determined(service) {
            return true;
        }
        let (upstream, ours) = self.groups(service);
        upstream.keys().chain(ours.keys()).all(|name| {
            let (upstream, ours) = self.group(service, name);
            upstream.fills == ours.fills && self.only_grew(after, service, name)
        })
    }

    /// True if hints that are spread over zones are equal on both sides, and of one slice of each address type, so that
    /// the same become wrong.
    fn determines_hints(&self, service: &str) -> bool {
        let (upstream, ours) = self.groups(service);
        let hinted = |groups: &Groups| -> Vec<Lines> {
            groups.values().map(|group| group.hinted.clone()).filter(|lines| !lines.is_empty()).collect()
        };
        let slices_of = |groups: &Groups, address_type: &str| -> usize {
            groups
                .iter()
                .filter(|(name, _)| name.starts_with(address_type))
                .map(|(_, group)| group.slices())
                .sum()
        };
        let (hints, our_hints) = (hinted(upstream), hinted(ours));
        let few = |groups| ["IPv4 ", "IPv6 "].iter().all(|address_type| slices_of(groups, address_type) <= 1);
        hints.is_empty() && our_hints.is_empty() || hints == our_hints && few(upstream) && few(ours)
    }

    /// The number of groups that have several slices with equal fills on both sides, and of all that have several.
    pub(crate) fn packed_groups(&self) -> (usize, usize) {
        let mut counts = (0, 0);
        for (_, _, upstream, ours) in self.all_groups() {
            if upstream.slices() > 1 {
                counts.1 += 1;
                counts.0 += usize::from(upstream.fills == ours.fills);
            }
        }
        counts
    }

    fn violations(&self) -> String {
        let mut text = String::new();
        for (who, view) in [("upstream", &self.upstream), ("ours", &self.ours)] {
            for violation in &view.violations {
                writeln!(text, "! {who}: {violation}").unwrap();
            }
        }
        text
    }

    /// Each group of either side: its Service, its name, and what it is under upstream and under ours.
    fn all_groups(&self) -> impl Iterator<Item = (&String, &String, &Group, &Group)> {
        let services = self.upstream.services.iter().chain(&self.ours.services);
        let names = services.flat_map(|(service, groups)| groups.keys().map(move |name| (service, name)));
        names.collect::<BTreeSet<_>>().into_iter().map(|(service, name)| {
            let (upstream, ours) = self.group(service, name);
            (service, name, upstream, ours)
        })
    }

    fn group(&self, service: &str, name: &str) -> (&Group, &Group) {
        let (upstream, ours) = self.groups(service);
        (upstream.get(name).unwrap_or(&NO_GROUP), ours.get(name).unwrap_or(&NO_GROUP))
    }

    fn groups(&self, service: &str) -> (&Groups, &Groups) {
        (
            self.upstream.services.get(service).unwrap_or(&NO_GROUPS),
            self.ours.services.get(service).unwrap_or(&NO_GROUPS),
        )
    }

    /// True if everything is equal, and no placement was upstream's random choice.
    fn is_determined(&self, service: &str) -> bool {
        let (upstream, ours) = self.groups(service);
        let equal = upstream.len() == ours.len()
            && upstream.iter().all(|(name, group)| ours.get(name).is_some_and(|other| group.equals(other)));
        equal && upstream.values().all(|group| group.slices() <= 1)
    }

    fn only_grew(&self, after: &Self, service: &str, group: &str) -> bool {
        let (upstream, ours) = self.group(service, group);
        let (upstream_after, ours_after) = after.group(service, group);
        upstream.only_grew(upstream_after) && ours.only_grew(ours_after)
    }

    fn determines_fills(&self, after: &Self, service: &str, group: &str) -> bool {
        let (upstream, ours) = self.group(service, group);
        let few = upstream.slices() <= 1 && ours.slices() <= 1;
        upstream.fills == ours.fills && (few || self.only_grew(after, service, group))
    }
}

static NO_GROUP: Group =
    Group { endpoints: Lines::new(), hinted: Lines::new(), fills: Lines::new(), metadata: Lines::new() };

/// Adds the lines that only one of the two has: `-` for upstream, `+` for ours.
fn difference(text: &mut String, service: &str, group: &str, upstream: &Lines, ours: &Lines) {
    let lines: BTreeSet<&String> = upstream.keys().chain(ours.keys()).collect();
    for line in lines {
        let count = |side: &Lines| side.get(line).copied().unwrap_or(0);
        let (left, right) = (count(upstream), count(ours));
        if left != right {
            let (sign, times) = if left > right { ('-', left - right) } else { ('+', right - left) };
            writeln!(text, "{sign} {times} × {service} {group} {line}").unwrap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices of one Service and group, by the names of their endpoints.
    fn view(slices: &[&[&str]], labels: &str) -> View {
        let mut canonical = Canonical::default();
        for slice in slices {
            for endpoint in *slice {
                canonical.add(format!("shop/web IPv4 [\"http\":TCP/80] endpoint {endpoint}"));
            }
            canonical.add(format!("shop/web IPv4 [\"http\":TCP/80] slice of {}", slice.len()));
            canonical.add(format!("shop/web IPv4 [\"http\":TCP/80] slice labels={labels}"));
        }
        View::new(&canonical, &Chance::default(), Vec::new())
    }

    fn pair(upstream: &[&[&str]], ours: &[&[&str]]) -> Pair {
        Pair { upstream: view(upstream, "{}"), ours: view(ours, "{}") }
    }

    #[test]
    fn with_one_slice_everything_must_be_equal() {
        let before = pair(&[&["a"]], &[&["a"]]);
        assert!(pair(&[&["a", "b"]], &[&["b", "a"]]).differences(&before).is_empty());
        let other_fills = pair(&[&["a", "b"]], &[&["a"], &["b"]]);
        assert!(other_fills.differences(&before).contains("slice of 2"));
        assert!(before.determines_writes(&other_fills, "web"));
        let other_labels = Pair { upstream: view(&[&["a"]], "{}"), ours: view(&[&["a"]], "{x=y}") };
        assert!(other_labels.differences(&before).contains("{x=y}"));
    }

    #[test]
    fn shrinking_several_slices_determines_only_endpoints() {
        let before = pair(&[&["a", "b"], &["c"]], &[&["a", "c"], &["b"]]);
        let after = pair(&[&["a", "b"]], &[&["a"], &["b"]]);
        assert!(after.differences(&before).is_empty());
        assert!(!before.determines_writes(&after, "web"));
        let lost = pair(&[&["a", "b"]], &[&["a"]]);
        assert!(lost.differences(&before).contains("- 1 × web IPv4 [\"http\":TCP/80] endpoint b"));
    }

    #[test]
    fn groups_that_only_grow_keep_equal_fills() {
        let before = pair(&[&["a", "b"], &["c"]], &[&["a", "c"], &["b"]]);
        let after = pair(&[&["a", "b"], &["c", "d"]], &[&["a", "c"], &["b"], &["d"]]);
        assert!(after.differences(&before).contains("slice of 1"));
        assert!(before.determines_writes(&after, "web"));
    }

    #[test]
    fn random_placement_is_left_out() {
        let web = || BTreeSet::from(["web"]);
        let chance = Chance { hints: web(), trigger_times: web(), headless: web(), ..Chance::default() };
        let of = |lines: [&str; 2], chance: &Chance| {
            let mut canonical = Canonical::default();
            for line in lines {
                canonical.add(format!("shop/web IPv4 [] {line}"));
            }
            View::new(&canonical, chance, Vec::new())
        };
        let time = "endpoints.kubernetes.io/last-change-trigger-time=creation-of-the-Service";
        let more =
            format!("slice labels={{a=b service.kubernetes.io/headless= team=red}} annotations={{{time}}}");
        let upstream = ["endpoint a zone=b hints={\"forZones\":[]}", &more];
        let ours = ["endpoint a zone=b", "slice labels={a=b team=red} annotations={}"];
        let pair = |chance| Pair { upstream: of(upstream, chance), ours: of(ours, chance) };
        let before = Pair::default();
        assert_eq!(pair(&chance).differences(&before), "");
        assert!(!before.determines_writes(&pair(&chance), "web"));
        assert_eq!(pair(&Chance::default()).differences(&before).lines().count(), 4);
    }
}
