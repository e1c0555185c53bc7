//! The age of the newest change that the slices and Endpoints of a Service depend on.

use jiff::Timestamp;

use super::group::Group;
use super::rule::Context;
use crate::explain::time::{LAG_BOUND, of_metadata, of_pod};

/// True if the Service, its Endpoints or one of its pods changed so lately that a controller may be about to write.
///
/// Like `explain`, it takes times of the near future as recent: the reader's clock may be behind the cluster's.
///
/// A pod that is gone leaves no trace; the caller looks twice for such cases.
pub(super) fn is_recent(context: &Context<'_>, group: &Group<'_>) -> bool {
    let now = context.snapshot.now();
    let is_new = |time: Timestamp| now.duration_since(time).abs() < LAG_BOUND;
    let service = group.service.and_then(|entry| of_metadata(&entry.object.metadata, now));
    let endpoints = group.endpoints.and_then(|endpoints| of_metadata(&endpoints.metadata, now));
    if service.into_iter().chain(endpoints).any(is_new) {
        return true;
    }
    let pods = group.service.map(|entry| group.objects.selected(&entry.service));
    pods.into_iter().flatten().any(|entry| {
        of_pod(&entry.object, now).max(context.snapshot.kept_until(&entry.pod)).is_some_and(is_new)
    })
}
