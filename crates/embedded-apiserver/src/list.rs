//! Lists: what a request asks for, which version answers it, and the response.
//!
//! The rules are those of kube-apiserver 1.37 with its watch cache: `k8s.io/apiserver pkg/storage/cacher` decides which
//! version answers, `pkg/storage/etcd3` answers what the cache cannot, and Events have no cache.

mod encode;
mod errors;
mod fresh;
mod options;
mod read;
mod request;
mod token;
mod version;

pub(crate) use errors::too_large;
pub(crate) use fresh::wait_for;
pub(crate) use options::ListOptions;
pub(crate) use read::{Page, list};
pub(crate) use request::{Request, Target};
pub(crate) use version::parse_version;

#[cfg(test)]
mod tests;
