//! The events of a change of an object.

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::snapshot::{Kind as ObjectKind, NamespaceObjects};
use endpoint_diagnostics::{Object, Snapshot};
use endpointslice::model::LabelSet;
use endpointslice::well_known::SERVICE_NAME;
use k8s_openapi::api::core::v1::{Pod, Service};

use super::event::{Event, Kind, Tone};
use super::{endpoints, pods, slices};

/// The events of a change of an object, each with the Services that it concerns; none for all. The snapshot has the object as
/// it was before; `after` is none for a deletion.
pub(crate) fn of_change(
    snapshot: &Snapshot,
    kind: ObjectKind,
    (namespace, name): (&str, &str),
    after: Option<&Object>,
) -> Vec<(Option<ObjectKey>, Event)> {
    let objects = snapshot.namespace(namespace);
    let one = |service: &str, event: Option<Event>| {
        event.map(|event| (Some(ObjectKey::new(namespace, service)), event)).into_iter().collect()
    };
    match (kind, after) {
        (ObjectKind::Pods, after) => {
            let Some(objects) = objects else { return vec![] };
            let after = after.and_then(|it| if let Object::Pod(pod) = it { Some(&**pod) } else { None });
            of_pod(objects, namespace, name, after)
        }
        (ObjectKind::Services, after) => {
            let before = objects.and_then(|objects| objects.service(name)).map(|entry| &*entry.object);
            let after = after.and_then(|it| if let Object::Service(it) = it { Some(&**it) } else { None });
            one(name, of_service(name, before, after))
        }
        (ObjectKind::EndpointSlices, after) => {
            let before = objects.and_then(|objects| objects.slice(name)).map(|slice| &**slice);
            let after =
                after.and_then(|it| if let Object::EndpointSlice(it) = it { Some(&**it) } else { None });
            let labels = after.or(before).and_then(|slice| slice.metadata.labels.as_ref());
            let Some(service) = labels.and_then(|labels| labels.get(SERVICE_NAME)) else { return vec![] };
            one(service, slices::event(name, before, after))
        }
        (ObjectKind::Endpoints, after) => {
            let before = objects.and_then(|objects| objects.endpoints(name)).map(|object| &**object);
            let after = after.and_then(|it| if let Object::Endpoints(it) = it { Some(&**it) } else { None });
            one(name, endpoints::event(name, before, after))
        }
        (ObjectKind::Nodes, after) => {
            let after =
                after.and_then(|it| if let Object::Node(node) = it { Some((&**node).into()) } else { None });
            of_node(name, snapshot.nodes().get(name), after.as_ref())
                .map(|event| (None, event))
                .into_iter()
                .collect()
        }
        (ObjectKind::Namespaces | ObjectKind::ResourceClaims, _) => vec![],
    }
}

fn of_pod(
    objects: &NamespaceObjects,
    namespace: &str,
    name: &str,
    after: Option<&Pod>,
) -> Vec<(Option<ObjectKey>, Event)> {
    let before = objects.pod(name);
    let now = after.map(endpointslice::Pod::from);
    let selects =
        |labels: Option<&LabelSet>, selector: &LabelSet| labels.is_some_and(|it| selector.selects(it));
    let same =
        before.is_some_and(|before| now.as_ref().is_some_and(|now| !before.pod.differs_as_endpoint(now)));
    let (was, is) = (before.map(|before| &before.pod.labels), now.as_ref().map(|now| &now.labels));
    if same && was == is {
        return vec![];
    }
    let event = pods::event(name, before, after, now.as_ref());
    let mut found = vec![];
    for entry in objects.services() {
        let Some(selector) = &entry.service.selector else { continue };
        let event = match (selects(was, selector), selects(is, selector)) {
            (false, false) => continue,
            (true, false) if after.is_some() => {
                Some(Event::new(Kind::Pod, name, "is no longer selected", Tone::Bad))
            }
            (false, true) if before.is_some() => {
                Some(Event::new(Kind::Pod, name, "is selected now", Tone::Good))
            }
            _ => event.clone(),
        };
        found.extend(event.map(|event| (Some(ObjectKey::new(namespace, entry.name())), event)));
    }
    found
}

fn of_service(name: &str, before: Option<&Service>, after: Option<&Service>) -> Option<Event> {
    let event = |text: String, tone| Some(Event::new(Kind::Service, name, text, tone));
    let (before, after) = match (before, after) {
        (None, None) => return None,
        (None, Some(_)) => return event("was created".to_owned(), Tone::Neutral),
        (Some(_), None) => return event("was deleted".to_owned(), Tone::Bad),
        (Some(before), Some(after)) => (before, after),
    };
    let spec = |service: &Service| service.spec.clone().unwrap_or_default();
    let (was, is) = (spec(before), spec(after));
    let topology = |service: &Service| {
        let annotations = service.metadata.annotations.clone().unwrap_or_default();
        annotations.into_iter().filter(|(key, _)| key.contains("topology")).collect::<Vec<_>>()
    };
    let changed = [
        ("selector", was.selector != is.selector),
        ("ports", was.ports != is.ports),
        ("type", was.type_ != is.type_),
        ("IP families", was.ip_families != is.ip_families),
        ("traffic distribution", was.traffic_distribution != is.traffic_distribution),
        ("topology mode", topology(before) != topology(after)),
        ("publishNotReadyAddresses", was.publish_not_ready_addresses != is.publish_not_ready_addresses),
        ("labels", before.metadata.labels != after.metadata.labels),
    ];
    let changed: Vec<&str> =
        changed.into_iter().filter_map(|(field, differs)| differs.then_some(field)).collect();
    if changed.is_empty() {
        return None;
    }
    let by =
        endpoint_diagnostics::picture::newest_write(&after.metadata).and_then(|it| it.manager.as_deref());
    event(format!("changed: {}", changed.join(", ")), Tone::Neutral).map(|event| event.by(by))
}

fn of_node(
    name: &str,
    before: Option<&endpointslice::Node>,
    after: Option<&endpointslice::Node>,
) -> Option<Event> {
    let event = |text: String, tone| Some(Event::new(Kind::Node, name, text, tone));
    let in_zone = |node: &endpointslice::Node| {
        node.zone.as_deref().map_or_else(String::new, |zone| format!(" (zone {zone})"))
    };
    match (before, after) {
        (None, Some(node)) => event(format!("joined{}", in_zone(node)), Tone::Neutral),
        (Some(node), None) => event(format!("was removed{}", in_zone(node)), Tone::Bad),
        (Some(was), Some(is)) if was.ready && !is.ready => {
            event(format!("became not ready{}", in_zone(is)), Tone::Bad)
        }
        (Some(was), Some(is)) if !was.ready && is.ready => {
            event(format!("became ready{}", in_zone(is)), Tone::Good)
        }
        (Some(was), Some(is)) if was.zone != is.zone => event(format!("moved{}", in_zone(is)), Tone::Neutral),
        _ => None,
    }
}
