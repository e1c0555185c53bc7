//! What users are told about a Service, with upstream's reasons and messages (`endpointslice_controller.go`).

use controller_kit::recorder::EventType;
use controller_kit::worker::SyncError as _;
use endpoint_informers::events::service_reference;
use endpoint_informers::slices::SyncError;
use endpointslice::Service;
use endpointslice::topology::TopologyEvent;

use crate::controller::EndpointSliceController;

/// The source of events, as upstream's.
pub(crate) const COMPONENT: &str = "endpoint-slice-controller";

impl EndpointSliceController {
    /// Tells that a sync failed. A cache that is behind and a write that met somebody else's change heal by themselves
    /// and are nobody's business.
    pub(crate) fn report_failure(&self, service: &Service, error: &SyncError) {
        if error.is_transient() {
            return;
        }
        let Service { namespace, name, .. } = service;
        let message = format!("Error updating Endpoint Slices for Service {namespace}/{name}: {error}");
        self.tell(service, EventType::Warning, "FailedToUpdateEndpointSlices", message);
    }

    /// Tells of hints that came or went.
    pub(crate) fn report_hints(&self, service: &Service, events: Vec<TopologyEvent>) {
        for event in events {
            let event_type = if event.is_warning() { EventType::Warning } else { EventType::Normal };
            self.tell(service, event_type, event.reason(), event.to_string());
        }
    }

    fn tell(&self, service: &Service, event_type: EventType, reason: &str, message: String) {
        self.recorder.event(&service_reference(service), event_type, reason, message);
    }
}
