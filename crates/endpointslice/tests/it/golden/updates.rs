//! Slices that are updated in place.

use std::collections::{BTreeMap, BTreeSet};

use endpointslice::PortSet;
use endpointslice::well_known::{HEADLESS, MANAGED_BY, SERVICE_NAME};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::compare::{
    Differences, Scene, Writes, determined, endpoints, identity, kept_count, name_of, ports, ports_text,
};
use super::topology::{leaves_reopened_alone, may_reopen_others};

/// The reason for an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Endpoints were removed or changed, or labels changed.
    Content,
    /// The slice was correct, and takes the remainder.
    Remainder,
    /// The hints alone were wrong.
    Hints,
}

struct Update<'a> {
    before: &'a EndpointSlice,
    after: &'a EndpointSlice,
    kept: usize,
    reason: Reason,
}

impl Update<'_> {
    fn size(&self) -> usize {
        endpoints(self.after).len()
    }
}

pub(crate) fn compare_updates(scene: &Scene<'_>, found: &mut Differences) {
    let (ours, theirs) = (updates(scene, &scene.planned, found), updates(scene, &scene.recorded, found));
    let names = |updates: &BTreeMap<&str, Update<'_>>, reason| -> BTreeSet<String> {
        updates.iter().filter(|(_, it)| it.reason == reason).map(|(name, _)| (*name).to_owned()).collect()
    };
    found.equal("updated", &names(&ours, Reason::Content), &names(&theirs, Reason::Content));
    let sizes = |updates| sizes(updates).into_iter().collect::<Vec<_>>();
    found.equal("sizes after the update", &sizes(&ours), &sizes(&theirs));

    // Any of several equally full slices may take the remainder; the others are written only for their hints.
    let (our_filled, their_filled) = (names(&ours, Reason::Remainder), names(&theirs, Reason::Remainder));
    let tie: BTreeSet<String> = our_filled.symmetric_difference(&their_filled).cloned().collect();
    let hints_only = |updates| &names(updates, Reason::Hints) - &tie;
    let (our_hints, their_hints) = (hints_only(&ours), hints_only(&theirs));
    if leaves_reopened_alone(scene) {
        let more = our_hints.difference(&their_hints);
        found.check(more.count() == 0 || !tie.is_empty() || may_reopen_others(scene), || {
            format!("updated for hints alone\n      ours     {our_hints:?}\n      upstream {their_hints:?}")
        });
    } else {
        found.equal("updated for hints alone", &our_hints, &their_hints);
    }
    for (name, ours) in &ours {
        if let Some(theirs) = theirs.get(name) {
            compare_update(scene, ours, theirs, found);
        }
    }
}

fn compare_update(scene: &Scene<'_>, ours: &Update<'_>, theirs: &Update<'_>, found: &mut Differences) {
    let mut metadata = theirs.after.metadata.clone();
    if leaves_labels_not_compared(theirs.reason) {
        metadata.labels = Some(scene.ours.template.labels().clone());
        found.equal(
            "labels that upstream found",
            &theirs.before.metadata.labels,
            &theirs.after.metadata.labels,
        );
    }
    found.equal("metadata of an update", &ours.after.metadata, &metadata);
    found.equal("ports of an update", &ours.after.ports, &theirs.after.ports);
    let kept = |update: &Update<'_>| -> Vec<Endpoint> {
        endpoints(update.after)[..update.kept].iter().map(|endpoint| determined(endpoint, scene)).collect()
    };
    found.equal("endpoints kept by an update", &kept(ours), &kept(theirs));
}

/// Upstream corrects the labels that never cause a write when it writes a slice for its content, but not when the slice
/// takes the remainder or gets hints. We correct them in every write.
fn leaves_labels_not_compared(reason: Reason) -> bool {
    reason != Reason::Content
}

fn updates<'a>(
    scene: &'a Scene<'_>,
    writes: &'a Writes,
    found: &mut Differences,
) -> BTreeMap<&'a str, Update<'a>> {
    let mut updates = BTreeMap::new();
    for after in &writes.ordinary {
        let Some(before) = scene.existing.get(name_of(after)) else {
            found.check(false, || format!("{} is updated and doesn't exist", name_of(after)));
            continue;
        };
        let kept = kept_count(before, after);
        let reason = match endpoints(after).len() - kept {
            _ if differs(before, after, kept) => Reason::Content,
            0 => Reason::Hints,
            _ => Reason::Remainder,
        };
        updates.insert(name_of(after), Update { before, after, kept, reason });
    }
    updates
}

/// True if the slice had to be written for its own content. Three labels never cause a write.
fn differs(before: &EndpointSlice, after: &EndpointSlice, kept: usize) -> bool {
    let compared_labels = |slice: &EndpointSlice| -> BTreeMap<String, String> {
        let labels = slice.metadata.labels.clone().unwrap_or_default();
        let is_compared = |key: &str| ![SERVICE_NAME, MANAGED_BY, HEADLESS].contains(&key);
        labels.into_iter().filter(|(key, _)| is_compared(key)).collect()
    };
    let compared = |endpoints: &[Endpoint]| -> Vec<Endpoint> { endpoints.iter().map(published).collect() };
    compared_labels(before) != compared_labels(after)
        || compared(endpoints(before)) != compared(&endpoints(after)[..kept])
}

/// The fields of an endpoint that cause a write when they differ.
fn published(endpoint: &Endpoint) -> Endpoint {
    let target = endpoint.target_ref.clone();
    Endpoint {
        addresses: identity(endpoint).0.into_iter().map(str::to_owned).collect(),
        conditions: Some(endpoint.conditions.clone().unwrap_or_default()),
        deprecated_topology: None,
        hints: None,
        target_ref: target.map(|target| ObjectReference { resource_version: None, ..target }),
        ..endpoint.clone()
    }
}

/// Sizes of slices that are filled up, those that could stand for each other in one entry.
fn sizes(updates: &BTreeMap<&str, Update<'_>>) -> BTreeMap<(String, bool, usize), Vec<usize>> {
    let mut sizes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for update in updates.values().filter(|update| update.reason != Reason::Hints) {
        let ports = PortSet::new(ports(update.before).to_vec());
        let sorted = EndpointSlice { ports: Some(ports.into_vec()), ..EndpointSlice::default() };
        let class = (ports_text(&sorted), update.reason == Reason::Remainder, update.kept);
        sizes.entry(class).or_default().push(update.size());
    }
    for sizes in sizes.values_mut() {
        sizes.sort_unstable();
    }
    sizes
}
