//! A deliberate difference: of several slices to delete, a placeholder is kept unchanged.
//!
//! Upstream turns any of them into a new placeholder, and so deletes the old one or writes it again.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::compare::{Writes, endpoints, name_of, ports};

/// The writes of upstream if it kept the placeholder that we keep; if we keep none, its writes.
pub(crate) fn as_if_kept(
    recorded: Writes,
    planned: &Writes,
    existing: &BTreeMap<&str, &EndpointSlice>,
) -> Writes {
    let is_empty = |slice: &EndpointSlice| ports(slice).is_empty() && endpoints(slice).is_empty();
    let kept: Vec<&EndpointSlice> =
        existing.values().copied().filter(|slice| !planned.delete.contains(name_of(slice))).collect();
    let ([kept], [rewritten]) = (kept.as_slice(), recorded.recycled.as_slice()) else { return recorded };
    let only_delete = planned.built().next().is_none() && planned.ordinary.is_empty();
    let only_recycle = recorded.create.is_empty() && recorded.ordinary.is_empty();
    // Upstream leaves one empty slice, too.
    let doomed: BTreeSet<&str> =
        recorded.delete.iter().map(String::as_str).chain([name_of(rewritten)]).collect();
    let same_end = is_empty(kept) && is_empty(rewritten) && doomed.iter().eq(existing.keys());
    if !(only_delete && only_recycle && same_end && labels(kept).eq(labels(rewritten))) {
        return recorded;
    }
    let delete = doomed.into_iter().filter(|name| *name != name_of(kept)).map(str::to_owned).collect();
    Writes { create: vec![], ordinary: vec![], recycled: vec![], delete }
}

/// Upstream treats a label without a value as absent, such as the headless label.
fn labels(slice: &EndpointSlice) -> impl Iterator<Item = (&String, &String)> {
    slice.metadata.labels.iter().flatten().filter(|(_, value)| !value.is_empty())
}
