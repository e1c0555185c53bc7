//! What users are told, with upstream's reasons and messages (`endpoints_controller.go` `syncService`).

use controller_runtime::cache::ObjectKey;
use controller_runtime::error_chain;
use controller_runtime::recorder::{EventType, service_reference};
use controller_runtime::write::{Verb, WriteError};
use endpointslice::{Service, Skipped, SkippedReason};
use k8s_openapi::api::core::v1::{Endpoints, ObjectReference};

use crate::controller::EndpointsController;

/// The source of events, as upstream's.
pub(crate) const COMPONENT: &str = "endpoint-controller";

impl EndpointsController {
    /// Tells that `endpoints` could not be written. A write that met somebody else's change heals by itself and is
    /// nobody's business.
    ///
    /// The event is in the Service's namespace, also for an object that is yet to be created (upstream's is in
    /// `default`).
    pub(crate) fn report_failure(&self, key: &ObjectKey, endpoints: &Endpoints, error: &WriteError) {
        if error.heals_by_itself() {
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
        let object = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Endpoints".to_owned()),
            namespace: Some(key.namespace.to_string()),
            name: Some(key.name.to_string()),
            uid: endpoints.metadata.uid.clone(),
            resource_version: endpoints.metadata.resource_version.clone(),
            field_path: None,
        };
        self.recorder.event(&object, EventType::Warning, reason, message);
    }

    /// Tells of addresses that the API server would refuse, once for each pod.
    pub(crate) fn report_refused_addresses(&self, service: &Service, skipped: &[Skipped]) {
        for Skipped { name, reason } in skipped {
            if let SkippedReason::AddressNotAllowed(address) = reason {
                let message =
                    format!("Skipping IP address {address} of Pod {name}: not allowed in Endpoints");
                let object = service_reference(service);
                self.recorder.event(&object, EventType::Warning, "InvalidIPAddress", message);
            }
        }
    }
}
