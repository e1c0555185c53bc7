//! Compatibility with files that the Go types wrote (`hack/fixtures`).

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Container, Endpoints, Event, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    DeleteOptions as ApiDeleteOptions, ObjectMeta, Status, Time,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_protobuf::*;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

fn file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&file(&format!("{name}.json"))).unwrap()
}

/// Checks that both encodings have the same value, and that the encoding equals that of Go.
fn check_codec<T: Message + DeserializeOwned + PartialEq + Debug>(name: &str, strip: fn(&mut T)) {
    let bytes = file(&format!("{name}.pb"));
    let unknown = Unknown::parse(&bytes).unwrap();
    assert_eq!((unknown.api_version, unknown.kind), (T::API_VERSION, T::KIND), "{name}");
    assert_eq!(wrap(unknown.api_version, unknown.kind, unknown.raw), bytes, "{name}");

    let mut expected: T = json(name);
    let stripped = without_managed_fields(unknown.raw).unwrap();
    assert_eq!(expected.encode(), stripped, "{name}");
    strip(&mut expected);
    assert_eq!(T::decode(unknown.raw).unwrap(), expected, "{name}");
    assert_eq!(T::decode(&stripped).unwrap(), expected, "{name}");
    assert_eq!(expected.encode(), stripped, "{name}");
}

#[test]
fn written_kinds_equal_json_and_go() {
    check_codec::<EndpointSlice>("endpointslice", |object| object.metadata.managed_fields = None);
    check_codec::<EndpointSlice>("endpointslice-empty", |_| {});
    check_codec::<Endpoints>("endpoints", |object| object.metadata.managed_fields = None);
    check_codec::<Endpoints>("endpoints-empty", |_| {});
    check_codec::<Event>("event", |object| object.metadata.managed_fields = None);
    check_codec::<Event>("event-sparse", |_| {});
    check_codec::<Lease>("lease", |object| object.metadata.managed_fields = None);
    check_codec::<Lease>("lease-zeros", |_| {});
    check_codec::<Lease>("lease-empty", |_| {});
}

/// Checks the items of a list in both encodings.
fn check_items<T: Message + DeserializeOwned + PartialEq + Debug>(name: &str) {
    let bytes = file(&format!("{name}.pb"));
    let list = List::parse(Unknown::parse(&bytes).unwrap().raw).unwrap();
    let expected: BTreeMap<String, Box<RawValue>> = json(name);
    let expected: Vec<T> = serde_json::from_str(expected["items"].get()).unwrap();
    let mut count = 0;
    for (raw, expected) in list.items().zip(&expected) {
        let raw = raw.unwrap();
        assert_eq!(&T::decode(raw).unwrap(), expected, "{name} {count}");
        assert_eq!(expected.encode(), raw, "{name} {count}");
        count += 1;
    }
    assert_eq!((count, list.items().count()), (expected.len(), expected.len()), "{name}");
    assert!(count >= 10);
}

#[test]
fn random_objects_equal_json_and_go() {
    check_items::<EndpointSlice>("random-endpointslices");
    check_items::<Endpoints>("random-endpoints");
    check_items::<Event>("random-events");
    check_items::<Lease>("random-leases");
}

#[test]
fn delete_options_equal_go() {
    for name in ["deleteoptions", "deleteoptions-atomic", "deleteoptions-empty"] {
        let api: ApiDeleteOptions = json(name);
        let preconditions = api.preconditions.unwrap_or_default();
        let options = DeleteOptions {
            grace_period_seconds: api.grace_period_seconds,
            uid: preconditions.uid,
            resource_version: preconditions.resource_version,
            propagation_policy: api.propagation_policy,
            dry_run: api.dry_run.unwrap_or_default(),
        };
        assert_eq!(wrap("v1", "DeleteOptions", &options.encode()), file(&format!("{name}.pb")), "{name}");
    }
}

fn seconds(time: Option<&Time>) -> Option<i64> {
    time.map(|time| time.0.as_second())
}

fn pairs(map: Option<&BTreeMap<String, String>>) -> Vec<(&str, &str)> {
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

fn text(text: Option<&String>) -> &str {
    text.map_or("", String::as_str)
}

fn meta_of(meta: &ObjectMeta) -> MetaView<'_> {
    MetaView {
        name: text(meta.name.as_ref()),
        generate_name: text(meta.generate_name.as_ref()),
        namespace: text(meta.namespace.as_ref()),
        uid: text(meta.uid.as_ref()),
        resource_version: text(meta.resource_version.as_ref()),
        generation: meta.generation.unwrap_or_default(),
        creation_timestamp: seconds(meta.creation_timestamp.as_ref()),
        deletion_timestamp: seconds(meta.deletion_timestamp.as_ref()),
        labels: pairs(meta.labels.as_ref()),
        annotations: pairs(meta.annotations.as_ref()),
    }
}

fn ports_of(container: &Container, sidecar: bool) -> Vec<PortView<'_>> {
    let named = container.ports.iter().flatten().filter(|port| port.name.is_some());
    let view = |port: &'_ k8s_openapi::api::core::v1::ContainerPort| port.container_port;
    named
        .map(|port| PortView {
            name: text(port.name.as_ref()),
            container_port: view(port),
            protocol: port.protocol.as_deref().unwrap_or("TCP"),
            sidecar,
        })
        .collect()
}

/// Returns the expected view of a Pod, from its JSON.
fn pod_of(pod: &Pod) -> PodView<'_> {
    let (spec, status) = (pod.spec.as_ref().unwrap(), pod.status.as_ref().unwrap());
    let containers = spec.containers.iter().flat_map(|container| ports_of(container, false));
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let ready = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready");
    PodView {
        meta: meta_of(&pod.metadata),
        node_name: text(spec.node_name.as_ref()),
        hostname: text(spec.hostname.as_ref()),
        subdomain: text(spec.subdomain.as_ref()),
        has_readiness_gates: spec.readiness_gates.iter().flatten().next().is_some(),
        phase: text(status.phase.as_ref()),
        pod_ip: text(status.pod_ip.as_ref()),
        pod_ips: status.pod_ips.iter().flatten().map(|ip| ip.ip.as_str()).collect(),
        ready: ready.map(|ready| (ready.status == "True", seconds(ready.last_transition_time.as_ref()))),
        ports: containers.chain(sidecars.flat_map(|container| ports_of(container, true))).collect(),
    }
}

#[test]
fn pods_equal_json() {
    for name in ["pod", "pod-sparse"] {
        let bytes = file(&format!("{name}.pb"));
        let raw = Unknown::parse(&bytes).unwrap().raw;
        let pod: Pod = json(name);
        let expected = pod_of(&pod);
        assert_eq!(PodView::parse(raw).unwrap(), expected, "{name}");
        assert_eq!(PodView::parse(&without_managed_fields(raw).unwrap()).unwrap(), expected, "{name}");
        assert_eq!(meta(raw).unwrap(), expected.meta, "{name}");
    }
    let pod: Pod = json("pod");
    let names: Vec<_> = pod_of(&pod).ports.iter().map(|port| port.name).collect();
    assert_eq!(names, ["http", "dns", "sctp", "plain", "metrics"], "the fixture has ports of all sorts");
}

#[test]
fn services_equal_json() {
    for name in ["service", "service-headless"] {
        let bytes = file(&format!("{name}.pb"));
        let service: Service = json(name);
        let spec = service.spec.as_ref().unwrap();
        let ports = spec.ports.iter().flatten().map(|port| ServicePortView {
            name: text(port.name.as_ref()),
            protocol: port.protocol.as_deref().unwrap_or("TCP"),
            port: port.port,
            target_port: match port.target_port.as_ref() {
                None => TargetPort::Number(0),
                Some(IntOrString::Int(number)) => TargetPort::Number(*number),
                Some(IntOrString::String(name)) => TargetPort::Name(name),
            },
            app_protocol: port.app_protocol.as_deref(),
        });
        let expected = ServiceView {
            meta: meta_of(&service.metadata),
            service_type: text(spec.type_.as_ref()),
            cluster_ip: text(spec.cluster_ip.as_ref()),
            selector: pairs(spec.selector.as_ref()),
            ports: ports.collect(),
            ip_families: spec.ip_families.iter().flatten().map(String::as_str).collect(),
            publish_not_ready_addresses: spec.publish_not_ready_addresses.unwrap_or_default(),
            has_local_policy: [&spec.external_traffic_policy, &spec.internal_traffic_policy]
                .into_iter()
                .any(|policy| policy.as_deref() == Some("Local")),
            traffic_distribution: spec.traffic_distribution.as_deref(),
        };
        let view = ServiceView::parse(Unknown::parse(&bytes).unwrap().raw).unwrap();
        assert_eq!(view, expected, "{name}");
        assert_eq!(view.has_selector(), spec.selector.is_some(), "{name}");
    }
}

#[test]
fn nodes_equal_json() {
    let bytes = file("node.pb");
    let node: Node = json("node");
    let status = node.status.as_ref().unwrap();
    let expected = NodeView {
        meta: meta_of(&node.metadata),
        ready: status.conditions.iter().flatten().any(|c| c.type_ == "Ready" && c.status == "True"),
        allocatable_cpu: &status.allocatable.as_ref().unwrap()["cpu"].0,
    };
    assert_eq!(expected.allocatable_cpu, "3920m");
    assert!(expected.ready);
    assert_eq!(NodeView::parse(Unknown::parse(&bytes).unwrap().raw).unwrap(), expected);
}

#[test]
fn lists_equal_json() {
    let bytes = file("podlist.pb");
    let unknown = Unknown::parse(&bytes).unwrap();
    assert_eq!(unknown.kind, "PodList");
    let list = List::parse(unknown.raw).unwrap();
    let expected: k8s_openapi::List<Pod> = json("podlist");
    assert_eq!(list.resource_version, text(expected.metadata.resource_version.as_ref()));
    assert_eq!(list.continue_token, text(expected.metadata.continue_.as_ref()));
    assert_eq!(list.remaining_item_count, expected.metadata.remaining_item_count);
    let items: Vec<_> = list.items().map(|raw| PodView::parse(raw.unwrap()).unwrap()).collect();
    assert_eq!(items, expected.items.iter().map(pod_of).collect::<Vec<_>>());
}

fn status_of(status: &Status) -> StatusView<'_> {
    let details = status.details.as_ref();
    let causes = details.and_then(|details| details.causes.as_ref()).into_iter().flatten();
    StatusView {
        code: status.code.unwrap_or_default(),
        reason: text(status.reason.as_ref()),
        message: text(status.message.as_ref()),
        causes: causes.map(|cause| text(cause.reason.as_ref())).collect(),
        retry_after_seconds: details.and_then(|details| details.retry_after_seconds).unwrap_or_default(),
    }
}

#[test]
fn statuses_equal_json() {
    for name in ["status-invalid", "status-expired"] {
        let bytes = file(&format!("{name}.pb"));
        let status: Status = json(name);
        assert_eq!(
            StatusView::parse(Unknown::parse(&bytes).unwrap().raw).unwrap(),
            status_of(&status),
            "{name}"
        );
    }
}

#[test]
fn a_watch_body_is_read_event_by_event() {
    let mut frames = FrameReader::default();
    frames.push(&file("watch.frames"));
    let mut events = Vec::new();
    while let Some(frame) = frames.next_frame().unwrap() {
        let event = WatchEvent::parse(frame).unwrap();
        events.push((event.event_type, event.object.kind.to_owned(), event.object.raw.to_vec()));
    }
    assert!(frames.is_empty());
    let kinds: Vec<_> = events.iter().map(|(event_type, kind, _)| (*event_type, kind.as_str())).collect();
    let expected = [
        (EventType::Added, "Pod"),
        (EventType::Modified, "Pod"),
        (EventType::Deleted, "EndpointSlice"),
        (EventType::Bookmark, "Pod"),
        (EventType::Error, "Status"),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(PodView::parse(&events[0].2).unwrap(), pod_of(&json("pod")));
    let bookmark = meta(&events[3].2).unwrap();
    assert_eq!(bookmark.resource_version, "12345");
    assert_eq!(bookmark.annotations, [("k8s.io/initial-events-end", "true")]);
    assert_eq!(StatusView::parse(&events[4].2).unwrap().code, 410);
}
