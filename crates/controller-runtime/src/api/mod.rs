//! Requests to the API server: the connection, the encoding, honest errors, and a bound on everything.

mod client;
mod connect;
mod encoding;
mod error;
mod metrics;
mod rate_limit;
mod renewed;
mod service_account;

pub use client::{ApiClient, Preconditions};
pub use connect::{ConnectError, connect, connect_anonymously};
pub use encoding::{Encoding, Object, UnknownEncoding};
pub use error::{ApiError, Status};
pub use metrics::{ClientMetrics, ServerMetrics};
pub use rate_limit::RateLimiter;
pub use service_account::ServiceAccount;
