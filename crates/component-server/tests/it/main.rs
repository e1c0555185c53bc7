//! The server, over TLS on loopback, with fake reviews or a scripted API server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

mod authentication;
mod hostile_clients;
mod reviews;
mod routes;
mod serving_certificates;
mod support;
