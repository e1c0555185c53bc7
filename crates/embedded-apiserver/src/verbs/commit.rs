//! Writing to the store, with what must happen at each commit.

use std::sync::Arc;

use serde_json::Value;

use super::meta;
use crate::core::{Core, Entry, Happened};
use crate::store::{Expect, Refused, Stored};

/// Writes an object in place of `before`. `tree` is what `body` encodes.
pub(crate) fn put(
    core: &Core,
    entry: &'static Entry,
    key: &str,
    before: Option<&Arc<Stored>>,
    (tree, body): (&Value, &[u8]),
) -> Result<Arc<Stored>, Refused> {
    let expect = before.map_or(Expect::Absent, |before| Expect::Version(before.version()));
    let old = before.map(|before| &**before.body());
    let write = || core.store.put(entry.resource, key, expect, body);
    let stored = if core.behaviour.collects_garbage {
        core.owners.commit(entry.resource, key, old, Some(body), write)?
    } else {
        write()?
    };
    if meta::is_deleting(tree) {
        core.note(Happened::Deleting(entry, key.to_owned()));
    }
    Ok(stored)
}

/// Deletes an object and releases what it had allocated. Returns the last state with the version of the deletion.
pub(crate) fn remove(
    core: &Core,
    entry: &'static Entry,
    stored: &Arc<Stored>,
) -> Result<Arc<Stored>, Refused> {
    let expect = Expect::Version(stored.version());
    let write = || core.store.delete(entry.resource, stored.key(), expect);
    let gone = if core.behaviour.collects_garbage {
        core.owners.commit(entry.resource, stored.key(), Some(stored.body()), None, write)?
    } else {
        write()?
    };
    core.note(Happened::Gone(entry, Arc::clone(&gone)));
    if entry.kind.plural == "services"
        && let Ok(tree) = entry.tree(gone.body())
    {
        entry.kind.strategy.release(&core.allocators, &tree);
    }
    Ok(gone)
}
