//! An API server with one object of each kind, which also does once what clients count rarely.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// The version of everything that is listed.
const LISTED: u64 = 100;

/// The server, in a thread of its own.
pub(super) struct ScriptedApi {
    url: String,
}

struct Objects {
    version: AtomicU64,
    lease: Mutex<Value>,
    renewals: AtomicU64,
    posts: AtomicU64,
}

impl ScriptedApi {
    pub(super) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata":
            {"namespace": "kube-system", "name": "endpoint-controller-manager", "resourceVersion": "1"}});
        let objects = Arc::new(Objects {
            version: AtomicU64::new(LISTED),
            lease: Mutex::new(lease),
            renewals: AtomicU64::default(),
            posts: AtomicU64::default(),
        });
        let router = axum::Router::new().fallback(answer).with_state(objects);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap();
            });
        });
        Self { url }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

async fn answer(State(objects): State<Arc<Objects>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
    match parts.method {
        Method::GET if path.contains("/leases/") => objects.lease.lock().to_string().into_response(),
        Method::PUT if path.contains("/leases/") => objects.renew(&body),
        Method::GET if query.contains("watch=true") => watch(path, query),
        Method::GET => json!({"metadata": {"resourceVersion": LISTED.to_string()}, "items": items(path)})
            .to_string()
            .into_response(),
        _ => objects.write(&body),
    }
}

/// The initial events, if they are asked for, and then silence.
fn watch(path: &str, query: &str) -> Response {
    let mut events = Vec::new();
    if query.contains("sendInitialEvents=true") {
        events.extend(items(path).into_iter().map(|item| json!({"type": "ADDED", "object": item})));
        let end = json!({"k8s.io/initial-events-end": "true"});
        let metadata = json!({"resourceVersion": LISTED.to_string(), "annotations": end});
        events.push(json!({"type": "BOOKMARK", "object": {"metadata": metadata}}));
    }
    let lines = events.into_iter().map(|event| Ok::<_, std::io::Error>(Bytes::from(format!("{event}\n"))));
    Body::from_stream(stream::iter(lines).chain(stream::pending())).into_response()
}

impl Objects {
    fn next_version(&self) -> Value {
        (self.version.fetch_add(1, Ordering::SeqCst) + 1).to_string().into()
    }

    /// The second renewal meets a conflict, so that the elector reads the Lease again.
    fn renew(&self, body: &Bytes) -> Response {
        if self.renewals.fetch_add(1, Ordering::SeqCst) == 1 {
            return status(StatusCode::CONFLICT, "Conflict");
        }
        let mut lease: Value = serde_json::from_slice(body).unwrap();
        lease["metadata"]["resourceVersion"] = self.next_version();
        *self.lease.lock() = lease.clone();
        lease.to_string().into_response()
    }

    /// The first write is to be sent again.
    fn write(&self, body: &Bytes) -> Response {
        if self.posts.fetch_add(1, Ordering::SeqCst) == 0 {
            return ([("retry-after", "1")], status(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"))
                .into_response();
        }
        let mut object: Value = serde_json::from_slice(body).unwrap_or_else(|_| json!({"metadata": {}}));
        let version = self.next_version();
        let name =
            object["metadata"]["name"].as_str().map_or_else(|| format!("name-{version}"), str::to_owned);
        object["metadata"]["name"] = name.into();
        object["metadata"]["uid"] = format!("uid-{version}").into();
        object["metadata"]["resourceVersion"] = version;
        (StatusCode::CREATED, object.to_string()).into_response()
    }
}

fn status(code: StatusCode, reason: &str) -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "code": code.as_u16()});
    (code, status.to_string()).into_response()
}

/// The objects of a collection: a Service with a pod on a node, and one with Endpoints of its own.
fn items(path: &str) -> Vec<Value> {
    let metadata = |name: &str| {
        json!({"namespace": "default", "name": name, "uid": format!("uid-of-{name}"), "labels": {"app": name},
            "resourceVersion": LISTED.to_string(), "creationTimestamp": "2026-01-01T00:00:00Z"})
    };
    let ports = json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]);
    let families = json!(["IPv4"]);
    match path.rsplit('/').next().unwrap_or_default() {
        "services" => vec![
            json!({"metadata": metadata("web"), "spec": {"selector": {"app": "web"}, "ports": ports,
                "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": families,
                "type": "ClusterIP", "trafficDistribution": "PreferClose"}}),
            json!({"metadata": metadata("custom"), "spec": {"ports": ports, "clusterIP": "10.0.0.2",
                "clusterIPs": ["10.0.0.2"], "ipFamilies": families, "type": "ClusterIP"}}),
        ],
        "pods" => vec![json!({"metadata": metadata("web"), "spec": {"nodeName": "node", "containers": []},
            "status": {"phase": "Running", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}],
                "conditions": [{"type": "Ready", "status": "True"}]}})],
        "nodes" => vec![json!({"metadata": {"name": "node", "uid": "uid-of-node", "resourceVersion": "1",
            "labels": {"topology.kubernetes.io/zone": "a"}}, "status": {}})],
        "endpoints" => vec![json!({"metadata": metadata("custom"),
            "subsets": [{"addresses": [{"ip": "10.2.0.1"}], "ports": [{"port": 80, "protocol": "TCP"}]}]})],
        _ => Vec::new(),
    }
}
