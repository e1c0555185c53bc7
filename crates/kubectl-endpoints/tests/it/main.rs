//! The program from outside, without a cluster: `simulate` and `explain`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

mod audit;
mod diff;
mod explain;
mod family;
mod page;
mod program;
mod refused;
mod results;
mod serve;
mod subcommands;
