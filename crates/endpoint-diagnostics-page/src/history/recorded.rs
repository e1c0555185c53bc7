//! Events before the watch began, as objects record them.

use std::ops::RangeInclusive;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::picture::newest_write;
use endpoint_diagnostics::snapshot::{NamespaceObjects, ServiceEntry};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::event::{Event, Kind, Tone};
use super::{Entry, pods};

/// The recorded changes around a Service in a span of time, in no order.
///
/// Cost: linear in the Service's pods and slices.
pub(crate) fn of_service(
    snapshot: &Snapshot,
    key: &ObjectKey,
    span: RangeInclusive<Timestamp>,
) -> Vec<Arc<Entry>> {
    let Some(objects) = snapshot.namespace(&key.namespace) else { return vec![] };
    let Some(entry) = objects.service(&key.name) else { return vec![] };
    let found = events(objects, entry).into_iter().filter(|(time, _)| span.contains(time));
    let entry = |(time, event)| Entry { sequence: 0, time, service: Some(key.clone()), event, took: None };
    found.map(entry).map(Arc::new).collect()
}

fn events(objects: &NamespaceObjects, entry: &ServiceEntry) -> Vec<(Timestamp, Event)> {
    let name = entry.name();
    let mut found = vec![];
    if let Some(created) = &entry.object.metadata.creation_timestamp {
        found.push((created.0, Event::new(Kind::Service, &name, "was created", Tone::Neutral)));
    }
    for pod in objects.selected(&entry.service) {
        found.extend(of_pod(&pod.pod.name, &pod.object));
    }
    for slice in objects.slices_of(&name) {
        let Some(write) = newest_write(&slice.metadata) else { continue };
        let Some(time) = &write.time else { continue };
        let slice = slice.metadata.name.as_deref().unwrap_or_default();
        let event = Event::new(Kind::Slice, slice, "was last written", Tone::Neutral);
        found.push((time.0, event.by(write.manager.as_deref())));
    }
    found
}

fn of_pod(name: &str, pod: &Pod) -> Vec<(Timestamp, Event)> {
    let event = |text: String, tone| Event::new(Kind::Pod, name, text, tone);
    let mut found = vec![];
    if let Some(created) = &pod.metadata.creation_timestamp {
        found.push((created.0, event("was created".to_owned(), Tone::Neutral)));
    }
    let grace = SignedDuration::from_secs(pod.metadata.deletion_grace_period_seconds.unwrap_or_default());
    let deleted = pod.metadata.deletion_timestamp.as_ref().and_then(|end| end.0.checked_sub(grace).ok());
    found.extend(deleted.map(|time| (time, event("is being deleted".to_owned(), Tone::Bad))));
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    if let Some((ready, time)) = ready.and_then(|ready| Some((ready, ready.last_transition_time.as_ref()?))) {
        let why = pods::reason(pod).map_or_else(String::new, |why| format!(": {why}"));
        found.push((
            time.0,
            match ready.status.as_str() {
                "True" => event("became ready".to_owned(), Tone::Good),
                _ => event(format!("became not ready{why}"), Tone::Bad),
            },
        ));
    }
    let containers = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    for container in containers {
        let states = [container.state.as_ref(), container.last_state.as_ref()].into_iter().flatten();
        for ended in states.filter_map(|state| state.terminated.as_ref()) {
            let Some(time) = &ended.finished_at else { continue };
            found.push((time.0, event(pods::ended(&container.name, ended), Tone::Bad)));
        }
    }
    found
}
