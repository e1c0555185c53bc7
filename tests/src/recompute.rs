//! Endpoints computed by our pure functions from the Services and pods of a cluster.
//!
//! The order of subsets, and the choice of those left out of an object over capacity, depend on the uids of pods. So
//! the order cannot be compared between two clusters; a stored object can be compared with the output of our pure
//! functions for the same cluster.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use endpoints_controller::{Plan, Unready, desired_subsets, plan};
use endpointslice::endpoints::repack_subsets;
use endpointslice::well_known::{ENDPOINTS_OVER_CAPACITY, LAST_CHANGE_TRIGGER_TIME};
use endpointslice::{Interner, Pod, Service};
use k8s_openapi::api::core::v1::{self as core, Endpoints};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde::de::DeserializeOwned;

use crate::manager::Kind;
use crate::release::Release;

/// Compares all Endpoints that a controller keeps in a namespace with our computation: subsets in order, labels and
/// annotations. Two things are not compared. The time of the last change is taken from the stored object, because it
/// depends on earlier states. Ours leaves an object over capacity alone while its content is right, even if the subsets
/// would now be written in another order. Returns the number of objects compared.
///
/// # Panics
/// If one differs, or is missing.
pub async fn assert_reproduced(client: &Client, by: Kind, namespace: &str, when: &str) -> usize {
    let stored: Vec<Endpoints> = list(client, namespace).await;
    let stored: BTreeMap<String, Endpoints> = stored.into_iter().map(|it| (it.name_any(), it)).collect();
    let mut interner = Interner::default();
    let pods: Vec<core::Pod> = list(client, namespace).await;
    let pods: Vec<SelectablePod> =
        pods.into_iter().map(|pod| SelectablePod::new(pod, &mut interner)).collect();
    let services: Vec<core::Service> = list(client, namespace).await;
    let has_other_order = by == Kind::Upstream && Release::of(client).await.has_other_order();
    let mut differences = String::new();
    let mut compared = 0;
    for service in services.iter().filter(|service| is_served(service)) {
        compared += 1;
        let name = service.name_any();
        if let Some(difference) =
            difference(service, &pods, stored.get(&name), (by, has_other_order), &mut interner)
        {
            writeln!(differences, "{name}: {difference}").unwrap();
        }
    }
    assert!(
        differences.is_empty(),
        "after \"{when}\" there are other Endpoints than we compute:\n{differences}"
    );
    compared
}

async fn list<K>(client: &Client, namespace: &str) -> Vec<K>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    api.list(&ListParams::default()).await.expect("listing what Endpoints are made of").items
}

/// A pod as our controllers cache it, with its labels: it is decoded once for all Services.
struct SelectablePod {
    labels: BTreeMap<String, String>,
    pod: Pod,
}

impl SelectablePod {
    fn new(mut pod: core::Pod, interner: &mut Interner) -> Self {
        let compact = Pod::from_api(&pod, interner);
        Self { labels: pod.metadata.labels.take().unwrap_or_default(), pod: compact }
    }
}

/// True if the Endpoints controller writes the Endpoints of this Service.
fn is_served(service: &core::Service) -> bool {
    let spec = service.spec.as_ref();
    spec.is_some_and(|spec| spec.selector.is_some() && spec.type_.as_deref() != Some("ExternalName"))
}

fn difference(
    service: &core::Service,
    pods: &[SelectablePod],
    stored: Option<&Endpoints>,
    (by, has_other_order): (Kind, bool),
    interner: &mut Interner,
) -> Option<String> {
    let Some(stored) = stored else { return Some("has none".to_owned()) };
    let selector = service.spec.as_ref()?.selector.as_ref()?;
    let selected =
        pods.iter().filter(|pod| selector.iter().all(|(key, value)| pod.labels.get(key) == Some(value)));
    let pods: Vec<Pod> = selected.map(|pod| pod.pod.clone()).collect();
    let service = Service::from_api(service, interner);
    let subsets = desired_subsets(&service, &pods, Unready::of(&service, false));
    let time = stored.annotations().get(LAST_CHANGE_TRIGGER_TIME).cloned();
    let Plan::Create(computed) = plan(None, &service, subsets.clone(), time.clone()) else {
        return Some("is not created where there is none".to_owned());
    };
    let left_alone = by == Kind::Ours && stored.annotations().contains_key(ENDPOINTS_OVER_CAPACITY);
    let repacked = left_alone || has_other_order;
    let contents = |endpoints: &Endpoints| {
        let Endpoints { metadata, subsets } = endpoints.clone();
        let subsets = subsets.unwrap_or_default();
        let subsets = if repacked { repack_subsets(&subsets) } else { subsets };
        (subsets, metadata.labels, metadata.annotations)
    };
    if contents(stored) != contents(&computed) {
        return Some(format!("\n  stored   {}\n  computed {}", text(stored), text(&computed)));
    }
    match plan(Some(stored), &service, subsets, time) {
        Plan::Nothing => None,
        planned => Some(format!("would be written: {planned:?}")),
    }
}

/// A short form: for each list of ports the number of addresses, and the first and last one.
fn text(endpoints: &Endpoints) -> String {
    let mut text = format!("{:?} {:?}", endpoints.labels(), endpoints.annotations());
    for subset in endpoints.subsets.iter().flatten() {
        write!(text, "\n   ").unwrap();
        for addresses in [&subset.addresses, &subset.not_ready_addresses] {
            let list = addresses.as_deref().unwrap_or_default();
            let ends = [list.first(), list.last()].map(|address| address.map_or("", |address| &address.ip));
            write!(text, " {} {ends:?}", list.len()).unwrap();
        }
        let ports = subset.ports.iter().flatten();
        let ports = ports.map(|port| format!(" {}:{}", port.name.as_deref().unwrap_or_default(), port.port));
        text.extend(ports);
    }
    text
}
