//! The addresses of pods in the networks of their Services, by the rules of `pod-network-controller`.

use std::collections::HashMap;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::snapshot::Attachments;
use endpoint_informers::cache::Cache;
use endpoint_informers::reconciler::SliceReconciler as _;
use endpoint_informers::resource::Resource as _;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Interner, Pod, Service};
use kube_api::{ApiClient, ApiError, Encoding, error_chain};
use pod_network_controller::{NAME, PodNetworks, ResourceClaim};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exit;

#[derive(Deserialize)]
struct Claims {
    items: Vec<Box<RawValue>>,
}

/// Adds the attachments of Services that are delegated to `pod-network-controller` to a snapshot.
///
/// Cost: a list of the ResourceClaims of each namespace that has such a Service; nothing without one.
pub(crate) async fn attach(client: &ApiClient, snapshot: &mut Snapshot) {
    let mut interner = Interner::keeping_annotations(PodNetworks::ANNOTATIONS.iter().copied());
    let mut caches: HashMap<String, Option<(PodNetworks, Cache)>> = HashMap::new();
    let is_ours = |key: &ObjectKey| {
        let entry = snapshot.service(key);
        entry.is_some_and(|entry| entry.service.labels.get(ENDPOINT_CONTROLLER_NAME) == Some(NAME))
    };
    for key in snapshot.services().filter(is_ours).collect::<Vec<_>>() {
        let namespace = &*key.namespace;
        if !caches.contains_key(namespace) {
            let cache = claims(client, namespace, &mut interner).await;
            let failed = |error| {
                exit::note(&format!(
                    "Note: Services on pod networks are not compared: {}",
                    error_chain(&error)
                ))
            };
            caches.insert(namespace.to_owned(), cache.map_err(failed).ok());
        }
        let Some(Some((networks, cache))) = caches.get(namespace) else { continue };
        if let Some(attachments) = attachments(snapshot, &key, networks, cache, &mut interner) {
            snapshot.set_attachments(key, attachments);
        }
    }
}

/// The attachments of the pods that the Service selects; none if it names no network, or one of claims that the API server does not
/// have: its slices stay as they are.
fn attachments(
    snapshot: &Snapshot,
    key: &ObjectKey,
    networks: &PodNetworks,
    cache: &Cache,
    interner: &mut Interner,
) -> Option<Attachments> {
    let objects = snapshot.namespace(&key.namespace)?;
    let service = Service::from_api(&snapshot.service(key)?.object, interner);
    cache.read(|state| networks.check_readable(&service, state)).ok()?;
    let pods = objects.labels().selected(service.selector.as_ref()?);
    let pods = pods.iter().filter_map(|name| objects.pod(name)).filter(|entry| !entry.pod.terminal);
    pods.map(|entry| {
        let pod = Pod::from_api(&entry.object, interner);
        let found = cache.read(|state| networks.attachment(&service, &pod, state))?;
        Some((pod.uid, found.map_err(|missing| missing.to_string())))
    })
    .collect()
}

/// The claims of a namespace, in a cache, and the rules for them.
async fn claims(
    client: &ApiClient,
    namespace: &str,
    interner: &mut Interner,
) -> Result<(PodNetworks, Cache), ApiError> {
    let path = format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims");
    let listed = match client.clone().with_encoding(Encoding::Json).get_raw(&path).await {
        Err(error) if error.is_not_found() => return Ok((PodNetworks::without_claims(), Cache::default())),
        listed => listed?,
    };
    // Parameters of drivers need not be UTF-8.
    let listed: Claims =
        serde_json::from_str(&String::from_utf8_lossy(&listed)).map_err(ApiError::malformed)?;
    let cache = Cache::default();
    for item in listed.items {
        let (claim, _) = ResourceClaim::read_json(item.get(), interner).map_err(ApiError::malformed)?;
        cache.upsert(claim);
    }
    Ok((PodNetworks::default(), cache))
}
