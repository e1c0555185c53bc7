//! Follows `EndpointSlices` by a watch, and waits for an expected state.

use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The delay after a failed watch.
const PAUSE: Duration = Duration::from_millis(100);

/// The state that an [`Observer`] keeps of the slices.
pub trait View: Send + Sync + 'static {
    /// A slice has been created or changed.
    fn present(&mut self, slice: EndpointSlice);

    /// A slice has been deleted.
    fn absent(&mut self, slice: &EndpointSlice);
}

/// A watch in the background. Dropping it ends the watch.
#[derive(Debug)]
pub struct Observer<V> {
    view: watch::Sender<V>,
    task: JoinHandle<()>,
}

impl<V: View> Observer<V> {
    /// Starts the watch with the existing slices.
    pub fn start(slices: Api<EndpointSlice>, view: V) -> Self {
        let view = watch::Sender::new(view);
        let task = tokio::spawn(follow(slices, view.clone()));
        Self { view, task }
    }

    /// Reads or changes the view. Does not wake waiters.
    pub fn with<T>(&self, act: impl FnOnce(&mut V) -> T) -> T {
        let mut result = None;
        self.view.send_if_modified(|view| {
            result = Some(act(view));
            false
        });
        result.expect("the closure has run")
    }

    /// Returns as soon as `reached` holds.
    ///
    /// # Panics
    /// After `limit`, with the output of `progress` for the view.
    pub async fn until(
        &self,
        what: &str,
        limit: Duration,
        reached: impl FnMut(&V) -> bool,
        progress: impl FnOnce(&V) -> String,
    ) {
        let mut changes = self.view.subscribe();
        let in_time = tokio::time::timeout(limit, changes.wait_for(reached)).await.is_ok();
        assert!(in_time, "{what}: not within {} s: {}", limit.as_secs(), progress(&self.view.borrow()));
    }
}

impl<V> Drop for Observer<V> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow<V: View>(slices: Api<EndpointSlice>, view: watch::Sender<V>) {
    // "Any version": begins with the current objects.
    const START: &str = "0";
    let mut version = START.to_owned();
    loop {
        if let Err(error) = follow_once(&slices, &view, &mut version).await {
            // The version has expired: the new watch sends all objects again. Deletions in between are missed, but no
            // demo or benchmark lasts long enough for that.
            eprintln!("watching slices: {error}");
            START.clone_into(&mut version);
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Returns when the server ends the watch, which it does after some minutes.
async fn follow_once<V: View>(
    slices: &Api<EndpointSlice>,
    view: &watch::Sender<V>,
    version: &mut String,
) -> kube::Result<()> {
    let stream = slices.watch(&WatchParams::default(), version).await?;
    let mut stream = std::pin::pin!(stream);
    while let Some(event) = stream.try_next().await? {
        match event {
            WatchEvent::Added(slice) | WatchEvent::Modified(slice) => {
                *version = slice.resource_version().unwrap_or_default();
                view.send_modify(|view| view.present(slice));
            }
            WatchEvent::Deleted(slice) => {
                *version = slice.resource_version().unwrap_or_default();
                view.send_modify(|view| view.absent(&slice));
            }
            WatchEvent::Bookmark(bookmark) => *version = bookmark.metadata.resource_version,
            WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
        }
    }
    Ok(())
}
