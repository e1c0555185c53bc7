//! Code that only the three controllers of Endpoints and EndpointSlices share.

mod refused_addresses;
mod seen_pods;
mod slice_metrics;
mod stored_service;
mod sync_caches;

pub use refused_addresses::report_refused_addresses;
pub use seen_pods::{ChangedPods, PodChanges, SeenPod, SeenPods};
pub use slice_metrics::{HintLabels, OwnerTotals, SliceMetrics};
pub use stored_service::{ASK_AGAIN, DoubtfulServices, has_selector, is_delegated, stored_service};
pub use sync_caches::{MIN_PODS, SyncCaches};
