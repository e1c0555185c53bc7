//! Random objects in the normal form of an API server.

use std::collections::BTreeMap;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{
    EndpointAddress, EndpointPort as CorePort, EndpointSubset, Endpoints, Event, EventSeries, EventSource,
    ObjectReference,
};
use k8s_openapi::api::discovery::v1::{
    Endpoint, EndpointConditions, EndpointHints, EndpointPort, EndpointSlice, ForNode, ForZone,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

/// Any short text.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9./-]{0,12}", "\\PC{0,6}"]
}

/// Text that Go holds by value, present only if not empty.
fn plain() -> impl Strategy<Value = Option<String>> {
    of(text().prop_filter("empty is absent", |text| !text.is_empty()))
}

fn plain_count() -> impl Strategy<Value = Option<i32>> {
    of(any::<i32>().prop_filter("zero is absent", |count| *count != 0))
}

fn time() -> impl Strategy<Value = Time> {
    (-62_135_596_799..253_402_207_200_i64).prop_map(|seconds| Time(Timestamp::new(seconds, 0).unwrap()))
}

fn micro_time() -> impl Strategy<Value = MicroTime> {
    (-62_135_596_799..253_402_207_200_i64, 0..1_000_000)
        .prop_map(|(seconds, micros)| MicroTime(Timestamp::new(seconds, micros * 1_000).unwrap()))
}

fn map() -> impl Strategy<Value = Option<BTreeMap<String, String>>> {
    of(btree_map(text(), text(), 1..5))
}

fn list<T: std::fmt::Debug>(item: impl Strategy<Value = T>) -> impl Strategy<Value = Option<Vec<T>>> {
    of(vec(item, 1..4))
}

fn owner() -> impl Strategy<Value = OwnerReference> {
    (text(), text(), text(), text(), of(any::<bool>()), of(any::<bool>())).prop_map(
        |(api_version, kind, name, uid, controller, block_owner_deletion)| OwnerReference {
            api_version,
            kind,
            name,
            uid,
            controller,
            block_owner_deletion,
        },
    )
}

fn metadata() -> impl Strategy<Value = ObjectMeta> {
    let names = [(); 6].map(|()| plain().boxed());
    let times = (of(time()), of(time()), of(any::<i64>()));
    let generation = of(any::<i64>().prop_filter("zero is absent", |generation| *generation != 0));
    (names, times, generation, map(), map(), list(owner()), list(text())).prop_map(
        |(names, times, generation, labels, annotations, owner_references, finalizers)| {
            let [name, generate_name, namespace, self_link, uid, resource_version] = names;
            let (creation_timestamp, deletion_timestamp, deletion_grace_period_seconds) = times;
            ObjectMeta {
                annotations,
                creation_timestamp,
                deletion_grace_period_seconds,
                deletion_timestamp,
                finalizers,
                generate_name,
                generation,
                labels,
                managed_fields: None,
                name,
                namespace,
                owner_references,
                resource_version,
                self_link,
                uid,
            }
        },
    )
}

fn reference() -> impl Strategy<Value = ObjectReference> {
    [(); 7].map(|()| plain().boxed()).prop_map(|texts| {
        let [api_version, field_path, kind, name, namespace, resource_version, uid] = texts;
        ObjectReference { api_version, field_path, kind, name, namespace, resource_version, uid }
    })
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    let conditions = [(); 3].map(|()| of(any::<bool>()));
    let hints = (list(text()), list(text())).prop_map(|(zones, nodes)| EndpointHints {
        for_zones: zones.map(|zones| zones.into_iter().map(|name| ForZone { name }).collect()),
        for_nodes: nodes.map(|nodes| nodes.into_iter().map(|name| ForNode { name }).collect()),
    });
    let texts = [(); 3].map(|()| of(text()));
    (vec(text(), 0..3), conditions, texts, of(reference()), map(), of(hints)).prop_map(
        |(addresses, [ready, serving, terminating], texts, target_ref, deprecated_topology, hints)| {
            let [hostname, node_name, zone] = texts;
            let conditions = Some(EndpointConditions { ready, serving, terminating });
            Endpoint {
                addresses,
                conditions,
                deprecated_topology,
                hints,
                hostname,
                node_name,
                target_ref,
                zone,
            }
        },
    )
}

/// An `EndpointSlice`.
pub(crate) fn endpoint_slice() -> impl Strategy<Value = EndpointSlice> {
    let port = ([(); 3].map(|()| of(text())), of(any::<i32>())).prop_map(
        |([app_protocol, name, protocol], port)| EndpointPort { app_protocol, name, port, protocol },
    );
    (metadata(), text(), list(endpoint()), list(port)).prop_map(
        |(metadata, address_type, endpoints, ports)| EndpointSlice {
            address_type,
            endpoints,
            metadata,
            ports,
        },
    )
}

/// An `Endpoints`.
pub(crate) fn endpoints() -> impl Strategy<Value = Endpoints> {
    let address = || {
        (plain(), text(), of(text()), of(reference())).prop_map(|(hostname, ip, node_name, target_ref)| {
            EndpointAddress { hostname, ip, node_name, target_ref }
        })
    };
    let port = (of(text()), plain(), any::<i32>(), plain())
        .prop_map(|(app_protocol, name, port, protocol)| CorePort { app_protocol, name, port, protocol });
    let subset =
        (list(address()), list(address()), list(port)).prop_map(|(addresses, not_ready_addresses, ports)| {
            EndpointSubset { addresses, not_ready_addresses, ports }
        });
    (metadata(), list(subset)).prop_map(|(metadata, subsets)| Endpoints { metadata, subsets })
}

/// An `Event`.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    let texts = [(); 6].map(|()| plain().boxed());
    let series = (plain_count(), of(micro_time()))
        .prop_map(|(count, last_observed_time)| EventSeries { count, last_observed_time });
    let times = (of(time()), of(time()), of(micro_time()));
    (metadata(), reference(), of(reference()), texts, [text(), text()], times, plain_count(), of(series))
        .prop_map(|(metadata, involved_object, related, texts, reporting, times, count, series)| {
            let [action, message, reason, type_, component, host] = texts;
            let [reporting_component, reporting_instance] = reporting;
            let (first_timestamp, last_timestamp, event_time) = times;
            Event {
                action,
                count,
                event_time,
                first_timestamp,
                involved_object,
                last_timestamp,
                message,
                metadata,
                reason,
                related,
                reporting_component: Some(reporting_component),
                reporting_instance: Some(reporting_instance),
                series,
                source: Some(EventSource { component, host }),
                type_,
            }
        })
}

/// A `Lease`.
pub(crate) fn lease() -> impl Strategy<Value = Lease> {
    let texts = [(); 3].map(|()| of(text()));
    let numbers = [(); 2].map(|()| of(any::<i32>()));
    (metadata(), texts, numbers, [(); 2].map(|()| of(micro_time()))).prop_map(
        |(metadata, texts, numbers, times)| {
            let [holder_identity, strategy, preferred_holder] = texts;
            let [lease_duration_seconds, lease_transitions] = numbers;
            let [acquire_time, renew_time] = times;
            let spec = LeaseSpec {
                acquire_time,
                holder_identity,
                lease_duration_seconds,
                lease_transitions,
                preferred_holder,
                renew_time,
                strategy,
            };
            Lease { metadata, spec: Some(spec) }
        },
    )
}
