//! The address of a pod in the network of its Service, by what its controller finds.

use super::codes;
use super::subject::Subject;
use crate::report::Reason;
use crate::snapshot::PodEntry;

/// The reason for which a pod is not ready in slices of another network, or not in them.
pub(super) fn network_reason(subject: &Subject<'_>, entry: &PodEntry) -> Option<Reason> {
    match subject.snapshot.networks().attachment(&subject.entry.service, &entry.pod)? {
        Ok(attachment) if attachment.ready => None,
        Ok(_) => Some(codes::NETWORK_NOT_READY.reason("its device in the network is not ready")),
        Err(missing) => Some(codes::NOT_IN_NETWORK.reason(missing.to_string())),
    }
}
