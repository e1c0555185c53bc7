//! Events about Endpoints, with upstream's reasons and messages (`endpoints_controller.go` `syncService`).

use controller_kit::key::ObjectKey;
use controller_kit::recorder::{EventType, object_reference};
use controller_kit::write::{Verb, WriteError};
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::error_chain;

use crate::controller::EndpointsController;

impl EndpointsController {
    /// Emits a Warning for a failed write of `endpoints`. Conflicts are retried without an event.
    ///
    /// The event is in the Service's namespace, also after a failed create (upstream's is in `default`).
    pub(crate) fn report_failure(&self, key: &ObjectKey, endpoints: &Endpoints, error: &WriteError) {
        if error.is_transient() {
            return;
        }
        let cause = error_chain(&error.source);
        let (reason, message) = match error.verb {
            Verb::Create => {
                ("FailedToCreateEndpoint", format!("Failed to create endpoint for service {key}: {cause}"))
            }
            Verb::Update => ("FailedToUpdateEndpoint", format!("Failed to update endpoint {key}: {cause}")),
            Verb::Delete => return,
        };
        let ObjectMeta { uid, resource_version, .. } = &endpoints.metadata;
        let object = object_reference("Endpoints", key, uid.as_ref(), resource_version.as_ref());
        self.recorder.event(&object, EventType::Warning, reason, message);
    }
}
