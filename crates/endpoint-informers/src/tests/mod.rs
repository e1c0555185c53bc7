//! Informers, the cache and the slice writer against scripted API servers.

mod http2;
mod lifecycle;
mod list_watch;
mod manager;
mod possible_endpoints;
mod random_controller;
mod reconciler;
mod relist;
mod restored_backup;
mod selected_by;
mod selectors;
mod slice_writer;
mod takeover;
mod world;
