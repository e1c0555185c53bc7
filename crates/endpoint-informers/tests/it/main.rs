//! Informers, the cache and the slice writer against scripted API servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

mod http2;
mod label_selector;
mod lifecycle;
mod list_watch;
mod quiet;
mod relist;
mod restored_backup;
mod slice_writer;
mod takeover;
mod world;
