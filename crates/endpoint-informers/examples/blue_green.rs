//! Publishes one of two versions of a program: blue or green.
//!
//! A Service without a selector names its pods and the active color by annotations. When the color changes, the other pods stay
//! published until enough pods of the new color are ready; then one write of each slice replaces them all. To go back, change
//! the annotation back.
//!
//! ```sh
//! cargo run -p endpoint-informers --example blue_green   # then, in another terminal:
//! echo '{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":[{"port":80,"targetPort":8080}]}}' |
//!   kubectl create --filename=-
//! kubectl annotate service web example.com/app=web example.com/active=blue example.com/min-ready=2
//! kubectl annotate service web example.com/active=green --overwrite
//! ```
//!
//! A Service that loses its selector keeps the slices that Kubernetes' controllers have made, as they are: create it without one.

mod shared;
#[cfg(test)]
#[path = "tests/blue_green.rs"]
mod tests;

use std::error::Error;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::recorder::EventType;
use endpoint_informers::cache::{Change, State};
use endpoint_informers::reconciler::{Context, SliceReconciler};
use endpoint_informers::resource::Resource as _;
use endpointslice::{Desired, Node, Pod, Service, desired_from_service};

/// Annotation of a Service: the value of the label `app` of its pods.
const APP: &str = "example.com/app";
/// Annotation of a Service: the value of the label `color` of the pods that it should publish.
const ACTIVE: &str = "example.com/active";
/// Annotation of a Service: the number of pods that must be ready before a color is published; 1 if absent.
const MIN_READY: &str = "example.com/min-ready";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    shared::run_until_interrupted(BlueGreen).await
}

struct BlueGreen;

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

/// The Service with the selector of its pods; `None` if it is not ours.
fn selecting(service: &Service) -> Option<Arc<Service>> {
    let app = service.annotations.get(APP).filter(|_| service.selector.is_none())?;
    let selector = Some([("app", app)].into_iter().collect());
    Some(Arc::new(Service { selector, ..service.clone() }))
}

impl SliceReconciler for BlueGreen {
    const NAME: &'static str = "blue-green.example.com";
    const ANNOTATIONS: &'static [&'static str] = &[APP, ACTIVE, MIN_READY];

    fn publishes(&self, service: &Service) -> bool {
        selecting(service).is_some()
    }

    fn desired(&self, context: &Context<'_>) -> Desired {
        let service = selecting(context.service()).unwrap_or_else(|| Arc::clone(context.service()));
        let selected = context.selected_by(&service);
        let (pods, missing) = choose(&service, &selected.pods().collect::<Vec<_>>());
        if missing > 0 {
            let color = service.annotations.get(ACTIVE).unwrap_or_default();
            let message =
                format!("{missing} more pods with color {color} must be ready before they are published");
            context.event(EventType::Normal, "WaitingForColor", message);
        }
        desired_from_service(&service, pods, |name| selected.node(name))
    }

    fn affected_by_pod(&self, change: &Change<Pod>, state: &State) -> Vec<ObjectKey> {
        // A pod may have had another label before it changed.
        let (Change::Added(pod) | Change::Deleted { last: pod, .. } | Change::Updated { old: pod, .. }) =
            change;
        let apps = [pod.labels.get("app"), change.latest().labels.get("app")];
        let services = state.services.iter().filter(|service| service.namespace == pod.namespace);
        let is_affected = |service: &&Arc<Service>| {
            let app = service.annotations.get(APP);
            app.is_some() && apps.contains(&app)
        };
        services.filter(is_affected).map(|service| service.key()).collect()
    }

    fn affected_by_node(&self, change: &Change<Node>, state: &State) -> Vec<ObjectKey> {
        // The zone of a node is published, and no pod is before its node is known.
        let node = match change {
            Change::Added(node) => node,
            Change::Updated { old, new } if old.zone != new.zone => new,
            _ => return Vec::new(),
        };
        let is_affected = |service: &&Arc<Service>| {
            let Some(service) = selecting(service) else { return false };
            let Some(selector) = &service.selector else { return false };
            let mut pods = state.pods_selected(&service.namespace, selector);
            pods.any(|pod| pod.node_name.as_ref() == Some(&node.name))
        };
        state.services.iter().filter(is_affected).map(|service| service.key()).collect()
    }
}
