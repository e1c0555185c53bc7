//! Why a sync must be tried again.

use std::fmt;

use controller_runtime::own_slices::StaleCache;
use controller_runtime::slice_writer::WriteError;
use controller_runtime::{error_chain, summary, worker};
use endpointslice::{Skipped, SkippedReason};

/// A sync that must be tried again.
#[derive(Debug)]
pub enum SyncError {
    /// The cache does not show our own last writes yet.
    StaleCache,
    /// Writes failed; all of them are listed.
    Write(Vec<WriteError>),
    /// A slice in the cache could not be read.
    Unreadable(kube_protobuf::DecodeError),
    /// Pods were left out; everything else was written.
    Skipped(Vec<Skipped>),
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleCache => StaleCache.fmt(f),
            Self::Unreadable(error) => write!(f, "unreadable EndpointSlice in the cache: {error}"),
            Self::Write(errors) => f.write_str(&summary(errors.iter().map(|error| error_chain(error)))),
            Self::Skipped(pods) => f.write_str(&summary(pods.iter().map(describe))),
        }
    }
}

fn describe(skipped: &Skipped) -> String {
    match &skipped.reason {
        SkippedReason::NodeNotFound(node) => {
            format!("skipping Pod {}: Node {node:?} not found", skipped.name)
        }
        SkippedReason::AddressNotAllowed(address) => format!("skipping {address} of Pod {}", skipped.name),
    }
}

impl std::error::Error for SyncError {}

impl SyncError {
    /// True if the next try, with a newer cache, is all it takes.
    pub(crate) fn heals_by_itself(&self) -> bool {
        match self {
            Self::StaleCache => true,
            Self::Write(errors) => errors.iter().all(WriteError::is_conflict),
            Self::Unreadable(_) | Self::Skipped(_) => false,
        }
    }
}

impl worker::SyncError for SyncError {
    fn is_stale(&self) -> bool {
        matches!(self, Self::StaleCache)
    }
}
