//! Storage: objects as protobuf, one version counter, and a log of all changes.
//!
//! ```text
//! write verbs ──> Store::create, update, delete ──> map of current objects
//!                                              └──> log of events ──> lists at an older version, watches
//! ```
//!
//! The model is that of etcd below a kube-apiserver: each commit increments one version, which all resources share, and
//! a reader sees all changes up to a version or none of a later one.

mod log;
mod object;
mod options;
mod state;
mod versioned;

pub(crate) use log::{Compacted, Event, EventKind};
pub(crate) use object::{Resource, Stored, key};
pub(crate) use options::StoreOptions;
pub(crate) use versioned::{Expect, Life, ReadError, Refused, Span, Store};

#[cfg(test)]
pub(crate) mod tests;
