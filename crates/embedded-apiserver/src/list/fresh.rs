//! Waiting for a version.

use std::time::Duration;

use super::errors::too_large;
use crate::status::Status;
use crate::store::Store;

/// Time that the API server waits for a version that it has not seen.
const PATIENCE: Duration = Duration::from_secs(3);

/// Waits until the store is at a version.
/// Errors: 504 after three seconds.
pub(crate) async fn wait_for(store: &Store, version: u64) -> Result<(), Status> {
    let mut versions = store.versions();
    let reached = versions.wait_for(|current| *current >= version);
    match tokio::time::timeout(PATIENCE, reached).await {
        Ok(Ok(_)) => Ok(()),
        _ => Err(too_large(version, store.version(), 1)),
    }
}
