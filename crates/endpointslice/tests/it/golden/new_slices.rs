//! New slices: created, or replacing one that would be deleted.

use std::collections::BTreeSet;

use endpointslice::PortSet;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::compare::{Differences, Scene, Writes, endpoints, name_of, ports, ports_text};

pub(crate) fn compare_new_slices(scene: &Scene<'_>, found: &mut Differences) {
    let (ours, theirs) = (&scene.planned, &scene.recorded);
    let creates = if scene.holds_back() { 0 } else { ours.create.len() };
    found.equal("number of creates", &creates, &theirs.create.len());
    found.equal("number of deletes", &ours.delete.len(), &theirs.delete.len());
    found.equal("number recycled", &ours.recycled.len(), &theirs.recycled.len());
    found.equal("deleted or recycled", &doomed(ours), &doomed(theirs));
    let wanted = |slice: &&EndpointSlice| still_wanted(scene, name_of(slice));
    if !has_placeholder(ours) {
        found.equal(
            "number recycled of groups still wanted",
            &ours.recycled.iter().filter(wanted).count(),
            &theirs.recycled.iter().filter(wanted).count(),
        );
    }
    compare_contents(scene, found);
    for slice in ours.built().chain(theirs.built()) {
        let metadata = ObjectMeta { name: None, ..slice.metadata.clone() };
        let like = ours.built().next().map(|first| ObjectMeta { name: None, ..first.metadata.clone() });
        found.equal("metadata of a new slice", &like, &Some(metadata));
    }
    let named = |slice: &EndpointSlice| slice.metadata.name.is_some();
    found.check(!ours.create.iter().any(named) && ours.recycled.iter().all(named), || {
        "creates have no name, recycled slices have one".to_owned()
    });
}

/// Ports in order and sizes of new slices.
fn compare_contents(scene: &Scene<'_>, found: &mut Differences) {
    let (ours, theirs) = (&scene.planned, &scene.recorded);
    if !scene.holds_back() {
        found.equal("new slices", &contents(ours.built()), &contents(theirs.built()));
    }
    let groups: BTreeSet<String> = ours.built().map(ports_text).collect();
    if groups.len() <= 1 {
        found.equal("recycled", &contents(ours.recycled.iter()), &contents(theirs.recycled.iter()));
    }
}

fn contents<'a>(slices: impl Iterator<Item = &'a EndpointSlice>) -> Vec<(String, usize)> {
    let mut contents: Vec<(String, usize)> =
        slices.map(|slice| (ports_text(slice), endpoints(slice).len())).collect();
    contents.sort();
    contents
}

fn doomed(writes: &Writes) -> BTreeSet<&str> {
    writes.delete.iter().map(String::as_str).chain(writes.recycled.iter().map(name_of)).collect()
}

fn has_placeholder(writes: &Writes) -> bool {
    writes.built().any(|slice| ports(slice).is_empty() && endpoints(slice).is_empty())
}

/// True if the ports of this existing slice are still those of a group.
fn still_wanted(scene: &Scene<'_>, name: &str) -> bool {
    let existing = scene.existing.get(name);
    existing
        .is_some_and(|slice| scene.plan.statistics.groups.contains_key(&PortSet::new(ports(slice).to_vec())))
}
