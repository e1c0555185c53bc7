//! The parts that controllers of EndpointSlices share: one sync from its reads to its writes.
//!
//! ```text
//! SliceExpectations::begin_sync ─> Snapshot ─> plan ─> SliceController::apply ─> Applied
//!            ^                        │                        │
//!            └── handler: observe     └── stale? wait          └── every write is expected in the cache
//! ```

mod budget;
mod controller;
mod expectations;
mod snapshot;
mod sync_error;
mod undone;
mod writer;
mod writes;

#[cfg(test)]
pub(crate) use budget::{MAX_WRITES, WriteBudget};
pub use controller::SliceController;
pub use expectations::{ManagedSlices, SliceExpectations, decode_all, service_key};
pub use snapshot::{Snapshot, UnsortedSnapshot};
pub use sync_error::{StaleCache, SyncError};
#[cfg(test)]
pub(crate) use writer::SliceWriter;
pub use writes::Applied;
#[cfg(test)]
pub(crate) use writes::Written;
