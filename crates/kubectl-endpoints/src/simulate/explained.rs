//! The reports on Services: which pods are in their slices, and why others are not.

use endpoint_diagnostics::{ServiceReport, Snapshot, explain_all};
use jiff::Timestamp;
use serde_json::Value;

use crate::files;

/// The reports on the Services among these objects.
pub(super) fn reports(objects: impl IntoIterator<Item = Value>) -> Vec<ServiceReport> {
    let mut snapshot = Snapshot::new(Timestamp::now(), []);
    // They have been validated, and other kinds say nothing about Services.
    for object in objects.into_iter().filter_map(files::object).filter_map(Result::ok) {
        snapshot.upsert(object);
    }
    explain_all(&snapshot)
}
