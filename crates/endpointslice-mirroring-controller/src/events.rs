//! Events about Endpoints, with upstream's reasons and messages (`endpointslicemirroring/reconciler.go`, `events.go`).
//! Failed syncs emit none, as upstream.

use controller_kit::key::ObjectKey;
use controller_kit::recorder::{EventType, object_reference};
use endpoint_informers::kinds::CachedEndpoints;

use crate::controller::EndpointSliceMirroringController;
use crate::mirror::Mirror;

impl EndpointSliceMirroringController {
    /// Emits events for addresses that are not mirrored, in each sync that finds some and leaves no write to the next; the
    /// recorder merges repetitions.
    pub(crate) fn report_skipped(&self, key: &ObjectKey, endpoints: &CachedEndpoints, mirror: &Mirror) {
        let Mirror { invalid, skipped, .. } = *mirror;
        let max = self.config.max_endpoints_per_subset;
        let object = object_reference("Endpoints", key, Some(&endpoints.uid), endpoints.version.number());
        let warn = |reason, message| self.slices.recorder.event(&object, EventType::Warning, reason, message);
        if invalid > 0 {
            let message = format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices");
            warn("InvalidIPAddress", message);
        }
        if skipped > invalid {
            let message = format!(
                "A max of {max} addresses can be mirrored to EndpointSlices per Endpoints subset. {skipped} addresses \
                 were skipped"
            );
            warn("TooManyAddressesToMirror", message);
        }
    }
}
