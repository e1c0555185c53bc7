//! The result by Service: which pods are in its slices, and why others are not.

use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics::{Snapshot, explain_all};
use jiff::Timestamp;
use serde_json::Value;

use crate::{explain, files};

/// A text for each Service of these objects, with its pods; one of rows if they are many.
pub(super) fn services(objects: Vec<Value>) -> Vec<String> {
    let mut snapshot = Snapshot::new(Timestamp::now(), Vec::<Kind>::new());
    // The API server has validated them, and other kinds say nothing about Services.
    for object in objects.into_iter().filter_map(files::object).filter_map(Result::ok) {
        snapshot.upsert(object);
    }
    explain::details(&explain_all(&snapshot))
}
