//! Requests to the Kubernetes API server: the connection, the encoding, errors that say what happened, and a bound on
//! every wait.
//!
//! * [`ApiClient`]: typed requests in protobuf or JSON; limits, leadership, shutdown and metrics are set once per client.
//! * [`connect`]: connections over HTTP/2 from a [`kube::Config`], with pings, proxies and credentials that are read again.
//! * [`Leadership`]: the fence that refuses writes of a process that does not hold the Lease.
//! * [`version_guard`]: notices that the API server's storage was restored from a backup.
//! * [`token_bucket`]: the one limit on rates.
//! * [`plain_counter`]: counters under upstream's names, without `_total`.
//!
//! This crate knows no kind of object beyond what a request needs, and nothing of controllers.

mod client;
mod connect;
mod connections;
mod connector;
mod encoding;
mod error;
mod error_chain;
mod leadership;
mod metrics;
pub mod plain_counter;
mod proxy;
mod rate_limit;
mod renewed;
mod service_account;
pub mod token_bucket;
pub mod version_guard;

pub use client::{ApiClient, Preconditions};
pub use connect::{ConnectError, connect, connect_anonymously, connect_with};
pub use connections::{KeepAlive, Origin};
pub use encoding::{Encoding, Object, UnknownEncoding};
pub use error::{ApiError, Status};
pub use error_chain::error_chain;
pub use leadership::{Leadership, LeadershipState};
pub use metrics::{ClientMetrics, ServerMetrics};
pub use rate_limit::RateLimiter;
pub use service_account::ServiceAccount;
