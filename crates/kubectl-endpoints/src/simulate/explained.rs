//! The reports on Services: which pods are in their slices, and why others are not.

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::controllers::Controller;
use endpoint_controller_manager::gates;
use endpoint_diagnostics::{ServiceReport, Snapshot, explain_all};
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use jiff::Timestamp;
use serde_json::Value;

use crate::files;

/// The reports on the Services among these objects, which the controllers of a configuration keep. Without its gate, the label
/// that delegates a Service means nothing: reports alone would believe it where no slice says otherwise.
pub(super) fn reports(objects: impl IntoIterator<Item = Value>, config: &Config) -> Vec<ServiceReport> {
    let delegation = config.gates.enabled(gates::ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL);
    let mut snapshot = Snapshot::new(Timestamp::now(), []);
    if !config.controllers.contains(&Controller::Endpoints) {
        snapshot.set_endpoints_off();
    }
    // They have been validated, and other kinds say nothing about Services.
    let objects = objects.into_iter().map(|mut tree| {
        if !delegation && let Some(Value::Object(labels)) = tree.pointer_mut("/metadata/labels") {
            labels.remove(ENDPOINT_CONTROLLER_NAME);
        }
        tree
    });
    for object in objects.filter_map(files::object).filter_map(Result::ok) {
        snapshot.upsert(object);
    }
    explain_all(&snapshot)
}
