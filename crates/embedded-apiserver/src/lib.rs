//! A Kubernetes API server in memory, for tests, demonstrations and simulations of controllers.
//!
//! [`ApiServer`] is a [`tower::Service`]: a `kube::Client` runs on it in process, or over HTTP and HTTPS.

pub mod environment;
mod kinds;
mod status;

pub use environment::Environment;
pub use status::{Cause, Details, Status};
