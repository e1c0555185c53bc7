//! The embedded API server with one object of each kind, which also does once what clients count rarely.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use embedded_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::leader_election::tests::serve;

/// The requests so far.
#[derive(Default)]
struct Counts {
    renewals: AtomicU64,
    creates: AtomicU64,
}

/// Starts it, and returns its URL.
pub(super) fn start() -> String {
    let server = ApiServer::new();
    for object in objects() {
        server.load(&object).unwrap();
    }
    let faults = middleware::from_fn_with_state(Arc::<Counts>::default(), fault);
    format!("http://{}", serve(Router::new().fallback_service(server).layer(faults)))
}

/// The second renewal of the Lease meets a conflict, so that the elector reads it again; the first create is to be sent again.
async fn fault(State(counts): State<Arc<Counts>>, request: Request, next: Next) -> Response {
    let is_renewal = request.method() == Method::PUT && request.uri().path().contains("/leases/");
    if is_renewal && counts.renewals.fetch_add(1, Ordering::SeqCst) == 1 {
        return status(StatusCode::CONFLICT, "Conflict");
    }
    if request.method() == Method::POST && counts.creates.fetch_add(1, Ordering::SeqCst) == 0 {
        return ([("retry-after", "1")], status(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"))
            .into_response();
    }
    next.run(request).await
}

fn status(code: StatusCode, reason: &str) -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "code": code.as_u16()});
    (code, status.to_string()).into_response()
}

/// A Service with a pod on a node, one with Endpoints of its own, and a Lease without a holder.
fn objects() -> [Value; 6] {
    let metadata = |name: &str| {
        json!({"namespace": "default", "name": name, "uid": format!("uid-of-{name}"), "labels": {"app": name},
            "creationTimestamp": "2026-01-01T00:00:00Z"})
    };
    let ports = json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]);
    let families = json!(["IPv4"]);
    [
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata("web"),
            "spec": {"selector": {"app": "web"}, "ports": ports, "clusterIP": "10.0.0.1",
                "clusterIPs": ["10.0.0.1"], "ipFamilies": families, "type": "ClusterIP",
                "trafficDistribution": "PreferClose"}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata("custom"),
            "spec": {"ports": ports, "clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"],
                "ipFamilies": families, "type": "ClusterIP"}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("web"),
            "spec": {"nodeName": "node", "containers": [{"name": "main", "image": "none"}]},
            "status": {"phase": "Running", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}],
                "conditions": [{"type": "Ready", "status": "True"}]}}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node", "uid": "uid-of-node",
            "labels": {"topology.kubernetes.io/zone": "a"}}, "status": {}}),
        json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata("custom"),
            "subsets": [{"addresses": [{"ip": "10.2.0.1"}], "ports": [{"port": 80, "protocol": "TCP"}]}]}),
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": "kube-system",
            "name": "endpoint-controller-manager", "uid": "uid-of-lease"}, "spec": {}}),
    ]
}
