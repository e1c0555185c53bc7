//! The recorder and elections against scripted API servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

mod election;
mod election_connections;
mod election_hold;
mod election_loss;
mod election_safety;
mod recorder;
