//! Requests to the API server: the connection, the encoding, honest errors, and a bound on everything.

mod client;
mod connect;
mod connections;
mod connector;
mod encoding;
mod error;
mod metrics;
mod proxy;
mod rate_limit;
mod renewed;
mod service_account;

pub use client::{ApiClient, Preconditions};
pub use connect::{ConnectError, connect, connect_anonymously, connect_with};
pub use connections::KeepAlive;
pub(crate) use connections::Origin;
pub use encoding::{Encoding, Object, UnknownEncoding};
pub use error::{ApiError, Status};
pub use metrics::{ClientMetrics, ServerMetrics};
pub use rate_limit::RateLimiter;
pub use service_account::ServiceAccount;
