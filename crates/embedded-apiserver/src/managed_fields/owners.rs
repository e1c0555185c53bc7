//! The changes of ownership that follow from a change of an object. Source: structured-merge-diff `merge.Updater`.

use std::borrow::Cow;

use serde_json::Value;

use super::FieldManager;
use super::collect::{collect, with_named_fields};
use super::compare::{Comparison, compare};
use super::conflict::{Conflict, conflicts_of};
use super::entries::{Entry, Identity};
use super::merge::merge;
use super::remove::remove;
use super::set::Set;
use super::shape::Shape;

/// Takes the fields that differ between `old` and `new` away from all owners but `own`, and the removed ones as well.
/// Returns what differs.
pub(super) fn take<'o, 'a>(
    manager: &FieldManager<'_>,
    (old, new): (&'o Value, &'o Value),
    entries: &mut Vec<Entry<'a>>,
    own: Option<&Identity<'_>>,
    force: bool,
) -> Result<Comparison<'o>, Vec<Conflict<'a>>> {
    let shape = Shape::of_type(manager.of);
    let mut comparison = compare(shape, old, new);
    manager.filter(&mut comparison);
    let mut conflicts = Vec::new();
    for entry in entries.iter_mut() {
        let own = own.is_some_and(|own| entry.identity == *own);
        if !own && entry.api_version == manager.api_version {
            shrink(entry, &comparison, force, &mut conflicts);
        }
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    // Entries of other versions are dropped: upstream's type converters know only the versions of their group.
    entries.retain(|entry| {
        let known = entry.api_version == manager.api_version || own.is_some_and(|own| entry.identity == *own);
        known && !entry.set.is_empty()
    });
    Ok(comparison)
}

fn shrink<'a>(
    entry: &mut Entry<'a>,
    changes: &Comparison<'_>,
    force: bool,
    conflicts: &mut Vec<Conflict<'a>>,
) {
    if !force {
        let changed = entry.set.intersection(&changes.modified).union(entry.set.intersection(&changes.added));
        conflicts.extend(conflicts_of(&entry.identity, &changed));
    }
    let changed = entry.set.subtract(&changes.modified)
        | entry.set.subtract(&changes.added)
        | entry.set.subtract(&changes.removed);
    if changed {
        entry.encoded = None;
    }
}

/// The live object with a configuration merged in, without the fields that only this applier owned and has left out. Its
/// entry then owns what the configuration contains.
pub(super) fn apply<'a>(
    manager: &FieldManager<'_>,
    live: &Value,
    config: &'a Value,
    entries: &mut Vec<Entry<'a>>,
    own: Identity<'a>,
) -> Value {
    let shape = Shape::of_type(manager.of);
    let merged = merge(shape, live, config);
    let mut set = collect(shape, config);
    for path in manager.reset {
        set.remove_below(path);
    }
    let last = entries.iter().position(|entry| entry.identity == own).map(|at| entries.swap_remove(at));
    let time = last.as_ref().and_then(|last| last.time.clone());
    let api_version = Cow::Owned(manager.api_version.to_owned());
    entries.push(Entry { identity: own, api_version, time, set, encoded: None });
    match last {
        Some(last) if last.api_version == manager.api_version => prune(manager, merged, &last.set, entries),
        _ => merged,
    }
}

/// Removes what was applied last time, except what an entry still owns and what contains such a thing.
fn prune(manager: &FieldManager<'_>, merged: Value, last: &Set<'_>, entries: &[Entry<'_>]) -> Value {
    if last.is_empty() {
        return merged;
    }
    let shape = Shape::of_type(manager.of);
    let last = with_named_fields(last, Some(shape));
    let all = paths_of(shape, &merged);
    // without what was applied last time, then with what has owners
    let pruned = remove(shape, &merged, &last);
    let mut gone = all.clone().without(&paths_of(shape, &pruned));
    for entry in entries.iter().filter(|entry| entry.api_version == manager.api_version) {
        gone.subtract(&with_named_fields(&entry.set, Some(shape)));
    }
    let pruned = remove(shape, &merged, &gone);
    // then with what was not applied last time
    let gone = all.without(&paths_of(shape, &pruned)).intersection(&last);
    remove(shape, &merged, &gone)
}

fn paths_of(shape: Shape, object: &Value) -> Set<'_> {
    with_named_fields(&collect(shape, object), Some(shape))
}
