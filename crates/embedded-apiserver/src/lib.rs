//! A Kubernetes API server in memory, for tests, demonstrations and simulations of controllers.
//!
//! [`ApiServer`] is a [`tower::Service`]: a `kube::Client` runs on it in process, or over HTTP and HTTPS.

#[allow(dead_code, unused_imports, reason = "the verbs will use it")]
mod codec;
#[allow(dead_code, unused_imports, reason = "the front will use it")]
mod discovery;
pub mod environment;
mod kinds;
#[allow(dead_code, unused_imports, reason = "the verbs will use it")]
mod list;
#[allow(dead_code, unused_imports, reason = "the verbs will use it")]
mod managed_fields;
#[allow(dead_code, unused_imports, reason = "the front will use it")]
mod openapi;
#[allow(dead_code, unused_imports, reason = "the verbs will use it")]
mod patch;
#[allow(dead_code, unused_imports, reason = "the verbs will use it")]
mod schema;
#[allow(dead_code, unused_imports, reason = "the verbs will use it")]
mod selectors;
#[allow(dead_code, unused_imports, reason = "the verbs will use it")]
mod snapshot;
mod status;
#[allow(dead_code, unused_imports, reason = "the verbs will use it")]
mod store;
#[allow(dead_code, unused_imports, reason = "the front will use it")]
mod table;
#[allow(dead_code, unused_imports, reason = "the verbs will use it")]
mod watch;

pub use environment::Environment;
pub use snapshot::SnapshotError;
pub use status::{Cause, Details, Status};
pub use store::StoreOptions;
