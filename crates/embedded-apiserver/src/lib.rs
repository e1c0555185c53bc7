// The first definition of a link counts: in the documentation, these replace those at the end of the README.
//! [`ApiServer`]: ApiServer
//! [`Environment`]: Environment
#![doc = include_str!("../README.md")]

mod audit;
mod codec;
mod core;
mod discovery;
pub mod environment;
mod go_quote;
mod http;
mod kinds;
mod list;
mod managed_fields;
mod openapi;
mod owners;
mod patch;
mod reviews;
mod schema;
mod selectors;
mod server;
mod status;
mod store;
mod table;
mod token;
mod users;
mod verbs;
mod watch;

pub use audit::AuditEvent;
pub use environment::{Environment, SystemEnvironment};
pub use http::Body;
pub use selectors::LabelSelector;
pub use server::{ApiServer, Builder, KnownObjects, LoadError, Snapshot, Tls, TlsError, kubeconfig};
