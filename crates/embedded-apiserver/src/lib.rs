#![doc = include_str!("../README.md")]

mod audit;
mod codec;
mod core;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod discovery;
pub mod environment;
mod http;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod kinds;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod list;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod managed_fields;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod openapi;
mod owners;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod patch;
mod reviews;
mod schema;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod selectors;
mod server;
mod snapshot;
mod status;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod store;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod table;
mod token;
mod users;
mod verbs;
#[allow(dead_code, unused_imports, reason = "not all of it is used yet")]
mod watch;

pub use audit::AuditEvent;
pub use environment::{Environment, SystemEnvironment};
pub use http::Body;
pub use server::{ApiServer, BuildError, Builder, LoadError, Tls, TlsError, kubeconfig, kubeconfig_of};
pub use snapshot::SnapshotError;
pub use status::{Cause, Details, Status};
pub use store::StoreOptions;
