//! Tests of the reports and the audit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

mod audit;
mod cluster;
mod documents;
mod random;
mod reasons;
