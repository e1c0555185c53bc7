//! The entry of a creation.

use jiff::Timestamp;
use serde_json::Value;

use super::compare::compare;
use super::entries::Identity;
use super::fields_v1;
use super::set::Set;
use super::shape::Shape;
use super::{FieldManager, OWNERLESS, set_entries, stored_entries};
use crate::codec::protobuf::{ManagedFieldsEntry, managed_fields};
use crate::kinds::timestamp;

impl FieldManager<'_> {
    /// Records that `manager` has created `new`, as [`update`](Self::update) does.
    ///
    /// An object that brings no entries, as most, gets one. It is not put into the tree, but returned as the encoded field
    /// `managedFields` of `ObjectMeta`: a tree of the fields would be made only to be printed.
    ///
    /// Cost: linear; allocates for sets, but not for a tree of them.
    pub(crate) fn create(&self, new: &mut Value, manager: &str, now: Timestamp) -> Vec<u8> {
        if stored_entries(new).is_some_and(|sent| !sent.is_null()) {
            self.update(None, new, manager, now);
            return Vec::new();
        }
        set_entries(new, None);
        if !new.get("metadata").is_some_and(Value::is_object) {
            return Vec::new();
        }
        let nothing = self.of.zero();
        let Some(own) = self.fields_of_creation(&nothing, new) else { return Vec::new() };
        let identity = Identity::of_update(manager, self.api_version, self.subresource);
        managed_fields(ManagedFieldsEntry {
            manager: &identity.manager,
            operation: "Update",
            api_version: self.api_version,
            time: &timestamp(now),
            fields: &fields_v1::to_vec(&own),
            subresource: self.subresource,
        })
    }

    /// The fields that the creator owns. `None` if there are none, or if a list item has no key.
    fn fields_of_creation<'a>(&self, nothing: &'a Value, new: &'a Value) -> Option<Set<'a>> {
        self.check_keys(new).ok()?;
        let mut comparison = compare(Shape::of_type(self.of), nothing, new).ok()?;
        self.filter(&mut comparison);
        let mut own = comparison.modified.union(comparison.added);
        for path in OWNERLESS {
            own.remove(path);
        }
        if own.is_empty() { None } else { Some(own) }
    }
}
