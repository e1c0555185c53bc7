//! What only the three controllers of Endpoints and EndpointSlices share.

mod seen_pods;
mod sync_caches;

pub use seen_pods::{PodChanges, SeenPod, SeenPods};
pub use sync_caches::{MIN_PODS, SyncCaches};
