//! The cache with 10,000 pods of 100 Services, and a handler that asks as controllers do. One item is one pod.

use std::hint::black_box;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::{Cache, Change, Delta, Handler, State};
use endpoint_informers::kinds::{CachedSlice, SelectedPods};
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::Snapshot;
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{Interner, Pod};
use kube_protobuf::Message as _;

use super::plan::written_slices;
use crate::objects::{self, SERVICES};

/// All pods.
pub(crate) const PODS: u64 = 10_000;
const PODS_OF_SERVICE: usize = 100;
/// As many as a list-watch applies at once.
const BATCH: usize = 128;

struct Affected;

impl Handler for Affected {
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        black_box(state.services_affected_by_pod(change));
    }
}

fn filled(pods: bool) -> (Cache, Interner) {
    let (cache, mut interner) = (Cache::default(), Interner::default());
    cache.attach(Arc::new(Affected), |_| {});
    for number in 0..objects::NODES {
        cache.upsert(objects::node(number, &mut interner));
    }
    for number in 0..SERVICES {
        cache.upsert(objects::service(number, &mut interner));
    }
    if pods {
        for batch in batches(true, &mut interner) {
            cache.apply(batch, "1", true);
        }
    }
    (cache, interner)
}

/// All pods in batches, one of each Service, then another of each, and so on.
fn batches(is_ready: bool, interner: &mut Interner) -> Vec<Vec<Delta<Pod>>> {
    let numbers: Vec<(usize, usize)> =
        (0..PODS_OF_SERVICE).flat_map(|pod| (0..SERVICES).map(move |service| (service, pod))).collect();
    assert_eq!(numbers.len() as u64, PODS, "pods");
    let pods = |numbers: &[(usize, usize)]| {
        let delta =
            |&(service, pod): &(usize, usize)| Delta::Upsert(objects::pod(service, pod, is_ready, interner));
        numbers.iter().map(delta).collect()
    };
    numbers.chunks(BATCH).map(pods).collect()
}

fn apply(cache: Cache, batches: Vec<Vec<Delta<Pod>>>) -> Box<dyn FnMut()> {
    let mut batches = Some(batches);
    Box::new(move || {
        for batch in batches.take().unwrap() {
            cache.apply(batch, "2", false);
        }
    })
}

pub(crate) fn add() -> Box<dyn FnMut()> {
    let (cache, mut interner) = filled(false);
    let batches = batches(true, &mut interner);
    apply(cache, batches)
}

/// All pods become unready.
pub(crate) fn replace() -> Box<dyn FnMut()> {
    let (cache, mut interner) = filled(true);
    let batches = batches(false, &mut interner);
    apply(cache, batches)
}

pub(crate) fn remove() -> Box<dyn FnMut()> {
    let (cache, _) = filled(true);
    let names = |pod: &Arc<Pod>| (pod.namespace.to_string(), pod.name.to_string());
    let mut names: Vec<(String, String)> = cache.read(|state| state.pods.iter().map(names).collect());
    names.sort();
    Box::new(move || {
        for (namespace, name) in &names {
            let (namespace, name) = (namespace.clone(), name.clone());
            let deleted = Delta::<Pod>::Delete { namespace, name, resource_version: String::new() };
            cache.apply([deleted], "", false);
        }
    })
}

/// The pods of each Service, sorted.
pub(crate) fn select() -> Box<dyn FnMut()> {
    let (cache, _) = filled(true);
    let selectors: Vec<_> = (0..SERVICES)
        .map(|number| {
            let app = format!("app-{number}");
            (objects::namespace(number), [("app", app.as_str())].into_iter().collect())
        })
        .collect();
    Box::new(move || {
        for (namespace, selector) in &selectors {
            let select =
                |state: &State| state.pods_selected(namespace, selector).cloned().collect::<SelectedPods>();
            assert_eq!(cache.read(select).sorted().len(), PODS_OF_SERVICE, "pods of a Service");
        }
    })
}

/// The input of a sync for each Service: its pods, their nodes, and its slices in the form that is compared.
pub(crate) fn snapshot() -> Box<dyn FnMut()> {
    let (cache, mut interner) = filled(true);
    for number in 0..SERVICES {
        cache.upsert(slice_of(number, &mut interner));
    }
    let keys: Vec<ObjectKey> = (0..SERVICES)
        .map(|number| ObjectKey::new(objects::namespace(number), format!("app-{number}")))
        .collect();
    Box::new(move || {
        for key in &keys {
            let read = |state: &State| {
                let slices = state.slices_of(&key.namespace, &key.name, ENDPOINTSLICE_CONTROLLER);
                Snapshot::of(state.services.get(&key.namespace, &key.name).unwrap(), slices, state)
            };
            let snapshot = cache.read(read).sorted();
            assert_eq!(snapshot.pods().count(), PODS_OF_SERVICE, "pods of a Service");
            assert_eq!(snapshot.existing().unwrap().len(), 1, "slices of a Service");
        }
    })
}

/// A slice with 100 endpoints under the name and labels of this Service.
fn slice_of(service: usize, interner: &mut Interner) -> CachedSlice {
    let mut slice = written_slices().swap_remove(0);
    slice.metadata.name = Some(format!("app-{service}-00000"));
    slice.metadata.namespace = Some(objects::namespace(service));
    let name = ("kubernetes.io/service-name".to_owned(), format!("app-{service}"));
    slice.metadata.labels.get_or_insert_default().extend([name]);
    CachedSlice::from_protobuf(&slice.encode(), interner).unwrap()
}
