//! Updates of slices and Endpoints: answered, sent to the watches, and compared with the pods that changed.

use std::time::Instant;

use k8s_openapi::api::core::v1::{EndpointAddress, Endpoints};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_protobuf::{Message, Unknown, wrap};

use crate::cluster::Cluster;
use crate::kinds::Kind;
use crate::published::{encode_endpoints, encode_slice};
use crate::wire;

/// Replaces an object, whatever its version. Returns the body of the answer.
pub(crate) fn replace(cluster: &Cluster, kind: Kind, body: &[u8], arrived: Instant) -> Vec<u8> {
    let raw = Unknown::parse(body).expect("an object in an envelope").raw;
    if kind == Kind::Slices {
        let slice = EndpointSlice::decode(raw).expect("an EndpointSlice");
        look_at_slice(cluster, &slice, arrived);
        store(cluster, kind, slice, |slice| &mut slice.metadata, encode_slice)
    } else {
        let endpoints = Endpoints::decode(raw).expect("Endpoints");
        look_at_endpoints(cluster, &endpoints, arrived);
        store(cluster, kind, endpoints, |endpoints| &mut endpoints.metadata, encode_endpoints)
    }
}

fn store<T>(
    cluster: &Cluster,
    kind: Kind,
    mut object: T,
    metadata: fn(&mut T) -> &mut ObjectMeta,
    encode: fn(&T) -> Vec<u8>,
) -> Vec<u8> {
    let (api_version, name) = kind.types();
    cluster.watchers.change(kind, 1, |version| {
        metadata(&mut object).resource_version = Some(version.to_string());
        let raw = encode(&object);
        let mut frame = Vec::with_capacity(raw.len() + 128);
        wire::event(&mut frame, "MODIFIED", kind.types(), &raw);
        (frame, wrap(api_version, name, &raw))
    })
}

fn look_at_slice(cluster: &Cluster, slice: &EndpointSlice, arrived: Instant) {
    for endpoint in slice.endpoints.iter().flatten() {
        let name = endpoint.target_ref.as_ref().and_then(|target| target.name.as_deref());
        let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready);
        if let Some(pod) = name.and_then(|name| cluster.objects.world.pod_named(name)) {
            cluster.slices.published(pod, ready.unwrap_or(true), arrived);
        }
    }
}

fn look_at_endpoints(cluster: &Cluster, endpoints: &Endpoints, arrived: Instant) {
    let look = |addresses: &Option<Vec<EndpointAddress>>, ready| {
        for address in addresses.iter().flatten() {
            let name = address.target_ref.as_ref().and_then(|target| target.name.as_deref());
            if let Some(pod) = name.and_then(|name| cluster.objects.world.pod_named(name)) {
                cluster.endpoints.published(pod, ready, arrived);
            }
        }
    };
    for subset in endpoints.subsets.iter().flatten() {
        look(&subset.addresses, true);
        look(&subset.not_ready_addresses, false);
    }
}
