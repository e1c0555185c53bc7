//! Informers, the cache and the slice writer against scripted API servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

mod http2;
mod lifecycle;
mod list_watch;
mod possible_endpoints;
mod quiet;
mod relist;
mod restored_backup;
mod selectors;
mod slice_writer;
mod takeover;
mod world;
