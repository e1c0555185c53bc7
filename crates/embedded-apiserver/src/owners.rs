//! The index of dependents by the uid of their owner.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kube_protobuf::{Fields, Value as Wire};
use parking_lot::Mutex;

use crate::store::{Refused, Resource, Stored};

const METADATA: u32 = 1;
/// Number of `ownerReferences` in `ObjectMeta`.
const OWNER_REFERENCES: u32 = 13;
/// Number of `uid` in `OwnerReference`.
const UID: u32 = 4;

/// The dependents of each owner, kept in step with the store by those who write.
///
/// Cost: about 100 bytes for each reference, and a scan of the metadata at each write.
#[derive(Debug, Default)]
pub(crate) struct Owners(Mutex<HashMap<String, BTreeSet<(Resource, String)>>>);

impl Owners {
    /// Writes an object and enters its owners. Only writes of objects that have or had owners wait for each other.
    ///
    /// # Errors
    /// Those of the write, which then changed nothing.
    pub(crate) fn commit(
        &self,
        resource: Resource,
        key: &str,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        write: impl FnOnce() -> Result<Arc<Stored>, Refused>,
    ) -> Result<Arc<Stored>, Refused> {
        let old = before.map(owners_of).unwrap_or_default();
        let new = after.map(owners_of).unwrap_or_default();
        if old == new {
            return write();
        }
        let mut owners = self.0.lock();
        let stored = write()?;
        let entry = (resource, key.to_owned());
        for uid in old.iter().filter(|uid| !new.contains(uid)) {
            if let Some(dependents) = owners.get_mut(*uid) {
                dependents.remove(&entry);
                if dependents.is_empty() {
                    owners.remove(*uid);
                }
            }
        }
        for uid in new.iter().filter(|uid| !old.contains(uid)) {
            owners.entry((*uid).to_owned()).or_default().insert(entry.clone());
        }
        Ok(stored)
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// The dependents of an owner, in the order of kinds and keys.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(Resource, String)> {
        self.0.lock().get(uid).map(|dependents| dependents.iter().cloned().collect()).unwrap_or_default()
    }
}

/// The uids of the owners of an encoded object.
pub(crate) fn owners_of(body: &[u8]) -> Vec<&str> {
    let mut owners = Vec::new();
    for metadata in all(body, METADATA) {
        for reference in all(metadata, OWNER_REFERENCES) {
            owners.extend(all(reference, UID).filter_map(|uid| std::str::from_utf8(uid).ok()));
        }
    }
    owners
}

fn all(message: &[u8], wanted: u32) -> impl Iterator<Item = &[u8]> {
    let mut fields = Fields::new("object", message);
    std::iter::from_fn(move || {
        loop {
            match fields.next_field() {
                Ok(Some((number, Wire::Bytes(bytes)))) if number == wanted => return Some(bytes),
                Ok(Some(_)) => {}
                _ => return None,
            }
        }
    })
}
