//! Publishes pods for Services without a selector.
//!
//! On a cluster whose control plane is managed, kube-controller-manager's controllers can be neither disabled nor told to leave a
//! Service alone. But they write no slices of a Service without a selector. This controller selects its pods by an annotation
//! instead, and publishes them as Kubernetes would. From here on, the rules are yours.
//!
//! ```sh
//! cargo run -p endpoint-informers --example service_without_selector   # then, in another terminal:
//! echo '{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":[{"port":80,"targetPort":8080}]}}' |
//!   kubectl create --filename=-
//! kubectl annotate service web example.com/selector=app=web
//! ```
//!
//! A Service that loses its selector keeps the slices that Kubernetes' controllers have made, as they are: create it without one.

mod shared;
#[cfg(test)]
#[path = "tests/service_without_selector.rs"]
mod tests;

use std::error::Error;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::{Change, State};
use endpoint_informers::reconciler::{Context, SliceReconciler};
use endpoint_informers::resource::Resource as _;
use endpointslice::model::LabelSet;
use endpointslice::{DesiredEndpoints, Node, Pod, Service, desired_from_service};

/// Annotation of a Service: the labels of its pods, separated by commas.
const SELECTOR: &str = "example.com/selector";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    shared::run_until_interrupted(AnnotatedSelector).await
}

struct AnnotatedSelector;

/// The Service with the selector of its annotation; `None` if it has none, or a selector that Kubernetes' own controllers
/// follow.
fn selecting(service: &Service) -> Option<Arc<Service>> {
    let annotation = service.annotations.get(SELECTOR).filter(|_| service.selector.is_none())?;
    let labels = annotation.split(',').map(|label| label.split_once('='));
    let labels = labels.map(|label| label.map(|(key, value)| (key.trim(), value.trim())));
    // Without the labels that cannot be read, it would select more pods than it should. An empty one selects none.
    let selector = labels.collect::<Option<LabelSet>>().unwrap_or_default();
    Some(Arc::new(Service { selector: Some(selector), ..service.clone() }))
}

impl SliceReconciler for AnnotatedSelector {
    const NAME: &'static str = "annotated-selector.example.com";
    const ANNOTATIONS: &'static [&'static str] = &[SELECTOR];

    fn publishes(&self, service: &Service) -> bool {
        selecting(service).is_some()
    }

    fn desired(&self, context: &Context<'_>) -> DesiredEndpoints {
        let service = selecting(context.service()).unwrap_or_else(|| Arc::clone(context.service()));
        let selected = context.selected_by(&service);
        desired_from_service(&service, selected.pods(), |name| selected.node(name))
    }

    fn affected_by_pod(&self, change: &Change<Pod>, state: &State) -> Vec<ObjectKey> {
        // A pod may have been selected before it changed.
        let (Change::Added(pod) | Change::Deleted { last: pod, .. } | Change::Updated { old: pod, .. }) =
            change;
        let selects = |service: &&Arc<Service>| {
            let selector = selecting(service).and_then(|service| service.selector.clone());
            selector.is_some_and(|it| it.selects(&pod.labels) || it.selects(&change.latest().labels))
        };
        let services = state.services.iter().filter(|service| service.namespace == pod.namespace);
        services.filter(selects).map(|service| service.key()).collect()
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
