//! The index of dependents by the uid of their owner.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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
/// Cost: about 30 bytes for each reference, as keys are those of the store, and a scan of the metadata at each write.
/// Objects without owners cost nothing.
#[derive(Debug, Default)]
pub(crate) struct Owners(Mutex<HashMap<String, Dependents>>);

/// The keys of dependents by kind.
type Dependents = BTreeMap<Resource, BTreeSet<Arc<str>>>;

impl Owners {
    /// Writes an object and enters its owners. Only writes of objects that have or had owners wait for each other.
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
        for uid in old.iter().filter(|uid| !new.contains(uid)) {
            forget(&mut owners, uid, resource, key);
        }
        for uid in new.iter().filter(|uid| !old.contains(uid)) {
            enter(&mut owners, uid, resource, stored.shared_key());
        }
        Ok(stored)
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// The dependents of an owner, in the order of kinds and keys.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(Resource, String)> {
        let owners = self.0.lock();
        let kinds = owners.get(uid).into_iter().flatten();
        kinds.flat_map(|(resource, keys)| keys.iter().map(|key| (*resource, key.to_string()))).collect()
    }
}

fn enter(owners: &mut HashMap<String, Dependents>, uid: &str, resource: Resource, key: Arc<str>) {
    if let Some(dependents) = owners.get_mut(uid) {
        dependents.entry(resource).or_default().insert(key);
    } else {
        owners.insert(uid.to_owned(), Dependents::from([(resource, BTreeSet::from([key]))]));
    }
}

/// Removes a dependent, and everything that is empty then.
fn forget(owners: &mut HashMap<String, Dependents>, uid: &str, resource: Resource, key: &str) {
    let Some(dependents) = owners.get_mut(uid) else { return };
    if let Some(keys) = dependents.get_mut(&resource) {
        keys.remove(key);
        if keys.is_empty() {
            dependents.remove(&resource);
        }
    }
    if dependents.is_empty() {
        owners.remove(uid);
    }
}

/// The uids of the owners of an encoded object.
fn owners_of(body: &[u8]) -> Vec<&str> {
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
