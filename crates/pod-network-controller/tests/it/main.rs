//! The controller on an API server in memory, with a clock that only advances when there is nothing to do.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "tests fail by panicking; objects are made to be given away"
)]

mod claims;
mod network_status;
mod random;
mod services;
mod support;
