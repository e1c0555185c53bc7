//! Publishes one of two versions of a program: blue or green.
//!
//! A Service without a selector names its pods and the active color by annotations. When the color changes, the other pods stay
//! published until enough pods of the new color are ready; then one write of each slice replaces them all. To go back, change
//! the annotation back.
//!
//! ```sh
//! cargo run --example blue_green
//! kubectl create service clusterip web --tcp=80:8080
//! kubectl patch service web --type=merge --patch='{"spec":{"selector":null}}'
//! kubectl annotate service web example.com/app=web example.com/active=blue example.com/min-ready=2
//! kubectl annotate service web example.com/active=green --overwrite
//! ```

mod shared;
#[cfg(test)]
#[path = "tests/blue_green.rs"]
mod tests;

use std::error::Error;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use controller_kit::recorder::EventType;
use controller_kit::worker::SyncContext;
use endpoint_informers::cache::{Cache, Change, Handler, ListPhase, State};
use endpoint_informers::controller::Controller;
use endpoint_informers::events::object_reference;
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::resource::Resource as _;
use endpoint_informers::slices::{SliceController, Snapshot, SyncError};
use endpointslice::{PlanOptions, Pod, Service, SliceTemplate, desired_from_service};

/// The controller's name, and the value of the label `managed-by` of its slices.
const NAME: &str = "blue-green.example.com";
/// Annotation of a Service: the value of the label `app` of its pods.
const APP: &str = "example.com/app";
/// Annotation of a Service: the value of the label `color` of the pods that it should publish.
const ACTIVE: &str = "example.com/active";
/// Annotation of a Service: the number of pods that must be ready before a color is published; 1 if absent.
const MIN_READY: &str = "example.com/min-ready";
const ANNOTATIONS: &[&str] = &[APP, ACTIVE, MIN_READY];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    shared::run_until_interrupted(ANNOTATIONS, |slices| BlueGreen { slices }).await
}

struct BlueGreen {
    slices: SliceController,
}

/// The pods that a Service publishes, of `pods`: those of the active color if enough of them are ready, or if no other pod is
/// ready; else the others. The second value is the number of pods that the active color lacks for that.
fn choose<'a>(service: &Service, pods: &[&'a Pod]) -> (Vec<&'a Pod>, usize) {
    let min_ready = service.annotations.get(MIN_READY).and_then(|text| text.parse().ok()).unwrap_or(1);
    let is_active = |pod: &&Pod| pod.labels.get("color") == service.annotations.get(ACTIVE);
    let (active, others): (Vec<&Pod>, Vec<&Pod>) = pods.iter().partition(|pod| is_active(pod));
    let ready = |pods: &[&Pod]| pods.iter().filter(|pod| pod.ready && !pod.is_terminating()).count();
    let missing = usize::saturating_sub(min_ready, ready(&active));
    if missing == 0 || ready(&others) == 0 { (active, 0) } else { (others, missing) }
}

impl BlueGreen {
    fn waiting(&self, service: &Service, missing: usize) {
        let object = object_reference("Service", &service.key(), service.uid.to_string(), service.version);
        let color = service.annotations.get(ACTIVE).unwrap_or_default();
        let message =
            format!("{missing} more pods with color {color} must be ready before they are published");
        self.slices.recorder.event(&object, EventType::Normal, "WaitingForColor", message);
    }
}

impl Controller for BlueGreen {
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
            let app =
                snapshot.service.annotations.get(APP).filter(|_| snapshot.service.selector.is_none())?;
            let selector = Some([("app", app)].into_iter().collect());
            let service = Arc::new(Service { selector, ..Service::clone(&snapshot.service) });
            // A moment after the slices were read; a change in between queues the Service again.
            let selected = self.slices.cache.read(|state| Snapshot::of(&service, Vec::new(), state)).sorted();
            let (pods, missing) = choose(&service, &selected.pods().collect::<Vec<_>>());
            if missing > 0 {
                self.waiting(&service, missing);
            }
            let desired = desired_from_service(&service, pods, |name| selected.node(name));
            Some((desired, SliceTemplate::for_service(&service, NAME), PlanOptions::default()))
        };
        self.slices.sync(sync, key, desired).await
    }
}

/// Handlers only queue keys; a sync reads the cache again.
impl Handler for BlueGreen {
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        // A pod may have had another label before it changed.
        let (Change::Added(pod) | Change::Deleted(pod) | Change::Updated { old: pod, .. }) = change;
        let apps = [pod.labels.get("app"), change.latest().labels.get("app")];
        for service in state.services.iter().filter(|service| service.namespace == pod.namespace) {
            let app = service.annotations.get(APP);
            if app.is_some() && apps.contains(&app) {
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
