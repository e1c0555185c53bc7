// The first definition of a link counts: in the documentation, these replace those at the end of the README.
//! [`ApiClient`]: ApiClient
//! [`connect`]: connect()
//! [`load_kubeconfig`]: load_kubeconfig
//! [`Leadership`]: Leadership
//! [`ServiceAccount`]: ServiceAccount
//! [`version_guard`]: version_guard
//! [`token_bucket`]: token_bucket
//! [`ClientMetrics`]: ClientMetrics
//! [`plain_counter`]: plain_counter
//! [`computed`]: computed
//! [`kube-protobuf`]: kube_protobuf
#![doc = include_str!("../README.md")]

mod adaptive_rate;
mod client;
mod client_certificate;
pub mod computed;
mod connect;
mod connections;
mod connector;
mod deadline;
mod encoding;
mod error;
mod error_chain;
mod file_reload;
mod gunzip;
mod kubeconfig;
mod leadership;
mod metrics;
pub mod plain_counter;
mod plugin;
mod proxy;
mod rate_limit;
mod service_account;
mod status;
pub mod time;
pub mod token_bucket;
mod token_cache;
pub mod version_guard;

pub use client::{ApiClient, Preconditions};
pub use client_certificate::client_certificate_expiry;
pub use connect::{ConnectError, connect, connect_with};
pub use connections::{KeepAlive, Origin};
pub use connector::NEW_CONNECTION_TIMEOUT;
pub use encoding::{Encoding, Object, UnknownEncoding};
pub use error::ApiError;
pub use error_chain::error_chain;
pub use kubeconfig::{
    KubeconfigError, load_kubeconfig, load_kubeconfig_for, load_user_kubeconfig, server_url, user_contexts,
};
pub use leadership::{Leadership, LeadershipState};
pub use metrics::{ClientMetrics, ServerMetrics};
pub use rate_limit::RateLimiter;
pub use service_account::ServiceAccount;
pub use status::Status;
