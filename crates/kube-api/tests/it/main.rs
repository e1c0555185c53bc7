//! Requests against a scripted API server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

mod api_client;
mod client_metrics;
mod compression;
mod proxy;
mod reloaded_credentials;
mod service_account;
