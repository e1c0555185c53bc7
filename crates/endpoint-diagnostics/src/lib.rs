//! Diagnoses of Services: which pods are in their EndpointSlices and Endpoints, and which are not and why.
//!
//! ```text
//! objects ─> Snapshot ─┬─> the controllers' plans ─> what should be ─┐
//!                      ├─> stored slices and Endpoints ─> what is ───┼─> ServiceReport
//!                      └─> predicates on the objects ─> why ─────────┘
//! ```
//!
//! * [`snapshot`]: the objects of one moment, indexed, as far as the caller may read them;
//! * [`explain()`] and [`explain_all`]: the report of one Service, and of all;
//! * [`picture`]: the stored endpoints with their zones, nodes and hints, to draw them;
//! * [`mod@audit`]: what is wrong with the objects of a whole cluster;
//! * [`report`]: the reports, which serialize to the JSON of `-o json` and of the page;
//! * [`traffic`]: whether a Service gets any.
//!
//! Nothing here does IO or reads a clock: objects and the time are arguments.

pub mod audit;
pub mod explain;
mod metadata;
pub mod picture;
pub mod report;
pub mod snapshot;
pub mod traffic;

pub use cli_runtime::differences::Change as Difference;
pub use explain::{explain, explain_all, explain_with_differences};
pub use picture::{EndpointCounts, Picture};
pub use report::{PodReport, Presence, Reason, ServiceReport, Verdict};
pub use snapshot::{Object, Snapshot};
pub use traffic::Traffic;
