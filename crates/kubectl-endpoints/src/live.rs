//! Objects of a cluster as JSON, which keep what reasons need: conditions, gates and times.
//!
//! ```text
//! list ──> watch from its resourceVersion ──> events ──> batches ──> Follower
//!   ^              │  ^
//!   └─── expired ──┘  └── ended, broken: from the last resourceVersion
//! ```

mod control_plane;
mod gather;
mod kinds;
mod list;
mod narrow;
mod watch;
mod watches;

pub(crate) use control_plane::control_plane;
pub(crate) use gather::gather;
pub(crate) use kinds::{Resource, claim};
pub(crate) use list::{Part, Selection, each, list};
pub(crate) use watch::Message;
pub(crate) use watches::Watches;
