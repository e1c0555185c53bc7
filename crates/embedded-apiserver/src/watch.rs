//! Watches: the changes of a selection from a version on.
//!
//! The rules are those of kube-apiserver 1.37 with its watch cache: `k8s.io/apiserver pkg/storage/cacher`, and for Events,
//! which have no cache, `pkg/storage/etcd3/watcher.go`.

mod events;
mod frames;
mod stream;

pub(crate) use events::WatchEvent;
pub(crate) use frames::{json_frame, protobuf_frame};
pub(crate) use stream::{Watch, watch};

#[cfg(test)]
mod tests;
