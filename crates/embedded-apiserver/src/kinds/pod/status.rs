//! The status of pods: `podStatusStrategy`.

use serde_json::Value;

use crate::kinds::tree;

/// Restores what an update of the status may not change, and what clients leave out.
pub(super) fn prepare(object: &mut Value, old: &Value) {
    tree::copy(object, "spec", old);
    let meta = tree::field_mut(object, "metadata");
    tree::remove(meta, "deletionTimestamp");
    tree::copy(meta, "ownerReferences", tree::field(old, "metadata"));
    let before = tree::field(old, "status");
    let status = tree::field_mut(object, "status");
    if tree::text(status, "qosClass").is_empty() {
        tree::copy(status, "qosClass", before);
    }
    if tree::int(status, "observedGeneration") == 0 {
        tree::copy(status, "observedGeneration", before);
    }
}
