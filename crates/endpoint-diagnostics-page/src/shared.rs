//! A page for several users, behind a server that authenticates and authorizes them.
//!
//! All of it is below [`PREFIX`]: authorization by paths leaves `/api/*` to every user of a cluster, since that is where the
//! API server describes itself.

use std::sync::Arc;

use axum::Router;
use tokio::sync::watch;

use crate::assets::ASSETS;
use crate::follow::Follower;
use crate::routes::shared_router;

/// The path below which everything is.
pub const PREFIX: &str = "/endpoints";

/// The page and its data. Streams of events end when `stopping` becomes true.
pub fn pages(source: Arc<Follower>, stopping: watch::Receiver<bool>) -> Router {
    shared_router(PREFIX, source, stopping)
}

/// The paths that say nothing about a cluster: the files of the page, with which a browser asks its user for a token.
pub fn public_paths() -> impl Iterator<Item = String> {
    ASSETS.iter().map(|asset| format!("{PREFIX}{}", asset.path))
}
