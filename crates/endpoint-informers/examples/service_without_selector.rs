//! Publishes pods for Services without a selector.
//!
//! On a cluster whose control plane is managed, kube-controller-manager's controllers can be neither disabled nor told to leave a
//! Service alone. But they write no slices of a Service without a selector. This controller selects its pods by an annotation
//! instead, and publishes them as Kubernetes would. From here on, the rules are yours.
//!
//! ```sh
//! cargo run --example service_without_selector
//! kubectl create service clusterip web --tcp=80:8080
//! kubectl patch service web --type=merge --patch='{"spec":{"selector":null}}'
//! kubectl annotate service web example.com/selector=app=web
//! ```

mod shared;
#[cfg(test)]
#[path = "tests/service_without_selector.rs"]
mod tests;

use std::error::Error;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use controller_kit::worker::SyncContext;
use endpoint_informers::cache::{Cache, Change, Handler, ListPhase, State};
use endpoint_informers::controller::Controller;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::{SliceController, Snapshot, SyncError};
use endpointslice::model::LabelSet;
use endpointslice::{PlanOptions, Pod, Service, SliceTemplate, desired_from_service};

/// The controller's name, and the value of the label `managed-by` of its slices.
const NAME: &str = "annotated-selector.example.com";
/// Annotation of a Service: the labels of its pods, separated by commas.
const SELECTOR: &str = "example.com/selector";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    shared::run_until_interrupted(&[SELECTOR], |slices| AnnotatedSelector { slices }).await
}

struct AnnotatedSelector {
    slices: SliceController,
}

/// The Service with the selector of its annotation; `None` if it has none, or a selector that Kubernetes' own controllers
/// follow.
fn selecting(service: &Service) -> Option<Arc<Service>> {
    let annotation = service.annotations.get(SELECTOR).filter(|_| service.selector.is_none())?;
    let labels = annotation.split(',').filter_map(|label| label.split_once('='));
    let selector: LabelSet = labels.map(|(key, value)| (key.trim(), value.trim())).collect();
    Some(Arc::new(Service { selector: Some(selector), ..service.clone() }))
}

impl Controller for AnnotatedSelector {
    const NAME: &'static str = NAME;
    type Error = SyncError;

    fn cache(&self) -> &Cache {
        &self.slices.cache
    }

    fn queue(&self) -> &WorkQueue<ObjectKey> {
        &self.slices.queue
    }

    async fn sync(&self, sync: &SyncContext, key: &ObjectKey) -> Result<(), SyncError> {
        let desired = |snapshot: &Snapshot| {
            let service = selecting(&snapshot.service)?;
            // A moment after the slices were read; a change in between queues the Service again.
            let selected = self.slices.cache.read(|state| Snapshot::of(&service, Vec::new(), state)).sorted();
            let desired = desired_from_service(&service, selected.pods(), |name| selected.node(name));
            Some((desired, SliceTemplate::for_service(&service, NAME), PlanOptions::default()))
        };
        self.slices.sync(sync, key, desired).await
    }
}

/// Handlers only queue keys; a sync reads the cache again.
impl Handler for AnnotatedSelector {
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        // A pod may have been selected before it changed.
        let (Change::Added(pod) | Change::Deleted(pod) | Change::Updated { old: pod, .. }) = change;
        let selects = |service: &Service| {
            let selector = selecting(service).and_then(|service| service.selector.clone());
            selector.is_some_and(|it| it.selects(&pod.labels) || it.selects(&change.latest().labels))
        };
        for service in state.services.iter().filter(|service| service.namespace == pod.namespace) {
            if selects(service) {
                self.slices.queue.add_after(service.key(), shared::BATCH_PERIOD);
            }
        }
    }

    fn service(&self, change: &Change<Service>, _state: &State, _is_initial_list: bool) {
        self.slices.queue.add(change.latest().key());
    }

    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        self.slices.expectations.observe(change);
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.slices.expectations.observe_list(phase, state);
    }
}
