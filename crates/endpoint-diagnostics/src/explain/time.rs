//! The newest change of an object, as far as its fields show it.

use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use crate::metadata::annotation;

/// The age below which a difference counts as lag: controllers write within a second, on busy clusters within some.
pub const LAG_BOUND: SignedDuration = SignedDuration::from_secs(30);

/// The newest of some times as of `now`. Those beyond the bound are of a clock that is ahead, or no times of changes, and do not
/// count.
pub(crate) fn newest(times: impl IntoIterator<Item = Timestamp>, now: Timestamp) -> Option<Timestamp> {
    times.into_iter().filter(|time| time.duration_since(now) < LAG_BOUND).max()
}

/// The newest change of a pod: of its metadata, its conditions, its containers, or its deletion.
pub(crate) fn of_pod(pod: &Pod, now: Timestamp) -> Option<Timestamp> {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let transitions = conditions.iter().filter_map(|condition| condition.last_transition_time.as_ref());
    let containers = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let states = containers.iter().filter_map(|container| container.state.as_ref());
    let of_containers = states.flat_map(|state| {
        let started = state.running.as_ref().and_then(|running| running.started_at.as_ref());
        let ended = state.terminated.as_ref().and_then(|ended| ended.finished_at.as_ref());
        [started, ended].into_iter().flatten()
    });
    let of_status = transitions.chain(of_containers).map(|time| time.0);
    newest(of_status.chain(of_metadata(&pod.metadata, now)), now)
}

/// The newest of creation, the beginning of a deletion, the newest write by any field manager, and the annotation with the
/// time of a change.
pub(crate) fn of_metadata(metadata: &ObjectMeta, now: Timestamp) -> Option<Timestamp> {
    let time = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    let grace = SignedDuration::from_secs(metadata.deletion_grace_period_seconds.unwrap_or_default());
    let deleted = time(&metadata.deletion_timestamp).and_then(|end| end.checked_sub(grace).ok());
    let managers = metadata.managed_fields.iter().flatten().filter_map(|manager| time(&manager.time));
    let annotated =
        annotation(metadata, LAST_CHANGE_TRIGGER_TIME).and_then(|time| time.parse::<Timestamp>().ok());
    newest(managers.chain(time(&metadata.creation_timestamp)).chain(deleted).chain(annotated), now)
}
