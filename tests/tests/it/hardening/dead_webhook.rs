//! An admission webhook that accepts and never answers, with failurePolicy Ignore: the API server waits until the
//! webhook's timeout, and then stores the object. The client has to wait as well.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::PostParams;
use scripted_api::pki::Authority;
use serde_json::json;
use tests::cluster::User;
use tests::scenario::{NAMESPACE, Pod};
use tests::wait::{self, LIMIT};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::fixture::{Fixture, measured, patience, serve, shows};

/// The longest that the API server allows.
const TIMEOUT: Duration = Duration::from_secs(30);
const BOUND: Duration = Duration::from_secs(50);

/// A webhook server that reads requests and answers none.
pub(crate) struct Webhook {
    address: SocketAddr,
    authority: String,
    asked: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Webhook {
    pub(crate) async fn start() -> Self {
        let authority = Authority::new("webhook");
        let acceptor = authority.issue(&Ipv4Addr::LOCALHOST.to_string()).acceptor(&[]);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(hold(listener, acceptor, Arc::clone(&asked)));
        Self { address, authority: authority.certificate_pem, asked, _tasks: tasks }
    }

    /// Makes the API server wait for it before it writes objects of this kind.
    pub(crate) fn configuration(
        &self,
        resource: &str,
        namespace: &str,
        timeout: Duration,
    ) -> MutatingWebhookConfiguration {
        let authority = k8s_openapi::ByteString(self.authority.clone().into_bytes());
        let rule = json!({
            "apiGroups": ["*"], "apiVersions": ["v1"], "resources": [resource],
            "operations": ["CREATE", "UPDATE"],
        });
        let webhook = json!({
            "name": "dead.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Ignore",
            "timeoutSeconds": timeout.as_secs(),
            "clientConfig": {"url": format!("https://{}/", self.address), "caBundle": authority},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [rule],
        });
        serde_json::from_value(json!({"metadata": {"name": "dead"}, "webhooks": [webhook]})).unwrap()
    }

    /// Waits until the API server calls it.
    async fn in_effect(&self, fixture: &Fixture) {
        let slices: Api<EndpointSlice> = Api::namespaced(fixture.cluster.client(), NAMESPACE);
        let slice = json!({"metadata": {"name": "probe"}, "addressType": "IPv4", "endpoints": []});
        let slice = serde_json::from_value(slice).unwrap();
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        wait::until("the webhook to be asked", LIMIT, async || {
            let create = slices.create(&dry_run, &slice);
            // Cancelled as soon as it hangs.
            let _ = tokio::time::timeout(Duration::from_millis(500), create).await;
            if self.asked.load(Ordering::Relaxed) > 0 { Ok(()) } else { Err("it is not") }
        })
        .await;
    }
}

async fn hold(listener: TcpListener, acceptor: TlsAcceptor, asked: Arc<AtomicUsize>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, asked) = (acceptor.clone(), Arc::clone(&asked));
        connections.spawn(async move {
            let Ok(_stream) = acceptor.accept(stream).await else { return };
            asked.fetch_add(1, Ordering::Relaxed);
            std::future::pending().await
        });
    }
}

/// Tests a create, of a new Service's slice, and an update, of a slice that loses a pod.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_never_answers_delays_writes_and_prevents_none() {
    let fixture = Fixture::behind_a_proxy_of_the_real_server(|options| options).await;
    let webhook = Webhook::start().await;
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(fixture.cluster.client());
    let configuration = webhook.configuration("endpointslices", NAMESPACE, TIMEOUT);
    configurations.create(&PostParams::default(), &configuration).await.unwrap();
    webhook.in_effect(&fixture).await;

    let mark = fixture.cluster.audit().mark();
    let (world, limit) = (&fixture.world, patience(LIMIT));
    serve(world, "new", 1).await;
    world.pod(Pod::new("web-1", "web", 2)).await;
    world.ready("web-0", false).await;
    let (first, second) = tokio::join!(shows(world, "new", true, limit), async {
        let start = std::time::Instant::now();
        while start.elapsed() < limit {
            let slices = world.slices_of("web", "IPv4").await.unwrap_or_default();
            if slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()).count() == 2 {
                return Ok(start.elapsed());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("web: not updated within {} s", limit.as_secs()))
    });
    for (what, result) in [("first slice", &first), ("update of a slice", &second)] {
        if let Ok(took) = result {
            measured(&format!("{what} past a webhook that never answers"), *took);
        }
    }
    let (first, second) = (first.unwrap(), second.unwrap());
    let bound = fixture.calm.after(BOUND);
    assert!(first <= bound && second <= bound, "{first:.1?} {second:.1?}");
    // The slice can be seen before the request is in the log.
    let creates = wait::until("the create in the audit log", LIMIT, async || {
        let mut creates = fixture.cluster.audit().writes_since(mark, User::EndpointControllers);
        creates.retain(|write| write.verb == "create" && write.resource == "endpointslices");
        creates.retain(|write| write.name.starts_with("new-"));
        if creates.is_empty() { Err("it is not there") } else { Ok(creates) }
    })
    .await;
    assert_eq!(creates.len(), 1, "{creates:#?}");
}
