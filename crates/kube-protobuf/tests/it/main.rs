//! Views and codecs: files that Go wrote, and properties of random bytes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

mod golden;
mod invariants;
mod properties;
