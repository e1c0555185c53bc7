//! Requests to the API server: the connection, the encoding, honest errors, and a bound on everything.

mod client;
mod connect;
mod encoding;
mod error;
mod rate_limit;

pub use client::{ApiClient, Preconditions};
pub use connect::{ConnectError, connect};
pub use encoding::{Encoding, Object, UnknownEncoding};
pub use error::{ApiError, Status};
pub use rate_limit::RateLimiter;
