//! Pods that a reconciler selects itself.

use std::io;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME};
use endpointslice::{DesiredEndpoints, Interner, Node, Pod, Service, desired_from_service};
use http::{Request, Response};
use kube::client::Body;
use kube_api::{ApiClient, Encoding};
use serde_json::{Value, json};

use crate::cache::{Cache, CachedResource, Delta};
use crate::controller::Controller as _;
use crate::kinds::CachedSlice;
use crate::reconciler::{Context, Reconciler, SliceReconciler};
use crate::slices::SyncError;

/// Selects the pods with the label `app=web` for every Service.
struct Web;

impl SliceReconciler for Web {
    const NAME: &'static str = "us";

    fn publishes(&self, _: &Service) -> bool {
        true
    }

    fn desired(&self, context: &Context<'_>) -> DesiredEndpoints {
        let selector = Some([("app", "web")].into_iter().collect());
        let service = Arc::new(Service { selector, ..Service::clone(context.service()) });
        let selected = context.selected_by(&service);
        desired_from_service(&service, selected.pods(), |name| selected.node(name))
    }
}

fn put<T: CachedResource>(cache: &Cache, object: &Value) {
    cache.upsert(T::from_json(&object.to_string(), &mut Interner::default()).unwrap());
}

/// A Service without a selector, whose slice has the pod `web-1` on the node `node-1`, which is not in the cache.
fn cache() -> Arc<Cache> {
    let metadata = |name: &str, labels: Value| json!({"namespace": "shop", "name": name, "uid": name, "resourceVersion": "1", "labels": labels});
    let cache = Arc::new(Cache::default());
    let ports = json!([{"port": 80, "targetPort": 8080, "protocol": "TCP"}]);
    let spec = json!({"clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "ports": ports});
    put::<Service>(&cache, &json!({"metadata": metadata("web", json!({})), "spec": spec}));
    put::<Pod>(
        &cache,
        &json!({
            "metadata": metadata("web-1", json!({"app": "web"})),
            "spec": {"nodeName": "node-1", "containers": [{"name": "main"}]},
            "status": {"phase": "Running", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}]},
        }),
    );
    let target = json!({"kind": "Pod", "namespace": "shop", "name": "web-1", "uid": "web-1"});
    put::<CachedSlice>(
        &cache,
        &json!({
            "metadata": metadata("web-x", json!({SERVICE_NAME: "web", MANAGED_BY: "us"})),
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.1.0.1"], "nodeName": "node-1", "targetRef": target}],
            "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
        }),
    );
    cache
}

/// Syncs the Service; every write fails.
async fn sync(cache: &Arc<Cache>) -> Result<(), SyncError> {
    let refused = tower::service_fn(|_: Request<Body>| async {
        Err::<Response<Body>, _>(io::Error::from(io::ErrorKind::ConnectionRefused))
    });
    let client = ApiClient::new(kube::Client::new(refused, "default"), Encoding::Json, "us");
    let (controller, _) = Reconciler::new(Web, Arc::clone(cache), client);
    controller.sync(&SyncContext::default(), &ObjectKey::new("shop", "web")).await
}

/// As for pods that the Service selects.
#[tokio::test(start_paused = true)]
async fn the_endpoint_of_a_pod_whose_node_cannot_be_read_stays() {
    let cache = cache();
    let outcome = sync(&cache).await;
    assert!(matches!(outcome, Err(SyncError::Write(_))), "the node does not exist: {outcome:?}");

    cache.apply([Delta::<Node>::Unreadable { namespace: String::new(), name: "node-1".into() }], "", false);
    let Err(SyncError::Missing(node)) = sync(&cache).await else { panic!("the endpoint was removed") };
    assert_eq!((node.kind, &*node.name), ("Node", "node-1"));

    put::<Node>(&cache, &json!({"metadata": {"name": "node-1"}}));
    cache.apply([Delta::<Node>::Unreadable { namespace: String::new(), name: "node-2".into() }], "", false);
    let outcome = sync(&cache).await;
    assert!(
        matches!(outcome, Err(SyncError::Write(_))),
        "it is published with other conditions: {outcome:?}"
    );
}
