//! Events about Services, with upstream's reasons and messages (`endpointslice_controller.go`).

use controller_kit::recorder::{EventType, object_reference};
use controller_kit::worker::SyncError as _;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::SyncError;
use endpointslice::Service;
use endpointslice::topology::TopologyEvent;

use crate::controller::EndpointSliceController;

impl EndpointSliceController {
    /// Emits a Warning for a failed sync. Stale caches and conflicts are retried without an event.
    pub(crate) fn report_failure(&self, service: &Service, error: &SyncError) {
        if error.is_transient() {
            return;
        }
        let Service { namespace, name, .. } = service;
        let message = format!("Error updating Endpoint Slices for Service {namespace}/{name}: {error}");
        self.emit(service, EventType::Warning, "FailedToUpdateEndpointSlices", message);
    }

    /// Emits an event for topology hints that were added or removed.
    pub(crate) fn report_hints(&self, service: &Service, events: Vec<TopologyEvent>) {
        for event in events {
            let event_type = if event.is_warning() { EventType::Warning } else { EventType::Normal };
            self.emit(service, event_type, event.reason(), event.to_string());
        }
    }

    fn emit(&self, service: &Service, event_type: EventType, reason: &str, message: String) {
        let object =
            object_reference("Service", &service.key(), Some(&service.uid), service.version.number());
        self.slices.recorder.event(&object, event_type, reason, message);
    }
}
