//! What only the three controllers of Endpoints and EndpointSlices share.

mod sync_caches;

pub use sync_caches::{MIN_PODS, SyncCaches};
