//! Requests over HTTP, and what comes back.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, USER_AGENT};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::task::JoinHandle;

use crate::cluster::{Cluster, User};
use crate::wait::{self, LIMIT};

/// An answer as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// [`CUT`] if the server cut the connection instead.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn content_type(&self) -> &str {
        self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Stands for the status of an answer that did not come. A Go server cuts the connection when a handler panics.
pub(crate) const CUT: u16 = 0;

/// The time for which an unused connection is kept: less than the 90 s after which kube-apiserver closes it, which a request just
/// then would take for a cut.
const IDLE: Duration = Duration::from_secs(30);

/// A version that is above the small numbers in objects, such as the 300 seconds of a pod's tolerations. A number that is the
/// version of an object too cannot be told from it in a text.
const FIRST_VERSION: u64 = 1_001;

/// A server, as its clients see it.
#[derive(Clone)]
pub struct Server {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Scheme, host and port.
    url: String,
    token: String,
    /// The real server's store.
    etcd: Option<String>,
}

/// An open stream.
pub(crate) struct Stream {
    state: Arc<Mutex<StreamState>>,
    reader: JoinHandle<()>,
}

#[derive(Default)]
struct StreamState {
    received: Vec<u8>,
    ended: bool,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Stream {
    /// The bytes so far, and whether the server ended the stream.
    pub(crate) fn received(&self) -> (Vec<u8>, bool) {
        let state = self.state.lock();
        (state.received.clone(), state.ended)
    }
}

impl Server {
    /// The real server of a cluster, as its operator.
    pub fn of(cluster: &Cluster) -> Self {
        let mut roots = RootCertStore::empty();
        let certificates = cluster.folder().join("certificates/apiserver.crt");
        for certificate in
            CertificateDer::pem_file_iter(certificates).expect("the certificates of the API server")
        {
            roots.add(certificate.expect("a certificate")).expect("a certificate");
        }
        let url = format!("https://{}", cluster.apiserver_address());
        Self { etcd: Some(cluster.etcd_url()), ..Self::new(url, User::Admin.token(), roots) }
    }

    /// A server at a URL without a path.
    pub fn at(url: String) -> Self {
        Self::new(url, User::Admin.token(), RootCertStore::empty())
    }

    fn new(url: String, token: String, roots: RootCertStore) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE).build(https);
        Self { client, url, token, etcd: None }
    }

    /// Sends a request and returns the head and the body, which is not read yet. `None` if the server cuts the connection.
    async fn send(&self, request: http::Request<Bytes>) -> Option<http::Response<hyper::body::Incoming>> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        parts.uri = format!("{}{path}", self.url).parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        parts.headers.insert(USER_AGENT, "conformance/v1".parse().unwrap());
        parts.headers.insert(AUTHORIZATION, format!("Bearer {}", self.token).parse().unwrap());
        parts.headers.remove(HOST);
        let request = http::Request::from_parts(parts, Full::new(body));
        let answer = self.client.request(request).await;
        let is_cut = |error: &hyper_util::client::legacy::Error| {
            let cause = error.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
            cause.is_some_and(hyper::Error::is_incomplete_message)
        };
        match answer {
            Err(error) if is_cut(&error) => None,
            answer => Some(answer.unwrap_or_else(|error| panic!("{}: {error:?}", self.url))),
        }
    }

    /// A whole answer.
    pub(crate) async fn answer(&self, request: http::Request<Bytes>) -> Answer {
        let Some(answer) = self.send(request).await else { return Answer::default() };
        let (head, body) = answer.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => format!("the body ends early: {error}").into(),
        };
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }

    /// An answer whose body is a stream if the request was successful.
    pub(crate) async fn stream(&self, request: http::Request<Bytes>) -> (Answer, Option<Stream>) {
        let Some(answer) = self.send(request).await else { return (Answer::default(), None) };
        let (head, mut body) = answer.into_parts();
        let mut answer = Answer { status: head.status.as_u16(), headers: head.headers, body: Bytes::new() };
        if answer.status != 200 {
            if let Ok(body) = body.collect().await {
                answer.body = body.to_bytes();
            }
            return (answer, None);
        }
        let state = Arc::new(Mutex::new(StreamState::default()));
        let shared = state.clone();
        let reader = tokio::spawn(async move {
            while let Some(Ok(frame)) = body.frame().await {
                if let Some(data) = frame.data_ref() {
                    shared.lock().received.extend_from_slice(data);
                }
            }
            shared.lock().ended = true;
        });
        (answer, Some(Stream { state, reader }))
    }

    /// Waits until the server's cache of a resource knows all earlier writes: a consistent list waits for it.
    pub(crate) async fn sync(&self, path: &str) {
        /// After which kube-apiserver gives its cache up, and reads from etcd (`blockTimeout` in its cacher).
        const GIVES_UP: Duration = Duration::from_secs(3);
        // No object has this name, so that the answer is small.
        let uri = format!("{path}?limit=1&fieldSelector=metadata.name%3Dconformance-sync");
        let start = Instant::now();
        loop {
            let request = http::Request::get(&uri).body(Bytes::new()).expect("a request");
            let asked = Instant::now();
            self.answer(request).await;
            if asked.elapsed() < GIVES_UP || start.elapsed() > LIMIT {
                return;
            }
        }
    }

    /// Makes a request that is not compared, and succeeds; `missing` may be the case.
    pub(crate) async fn quietly(&self, method: &str, path: &str, body: String) -> Answer {
        let request =
            http::Request::builder().method(method).uri(path).header(CONTENT_TYPE, "application/json");
        self.answer(request.body(body.into()).expect("a request")).await
    }

    /// Applies a merge patch that is not compared.
    pub(crate) async fn patch(&self, path: &str, body: &'static str) {
        let request = http::Request::patch(path).header(CONTENT_TYPE, "application/merge-patch+json");
        self.answer(request.body(body.into()).expect("a request")).await;
    }

    /// Drops the history so far, so that a watch from its beginning fails. Versions go on above [`FIRST_VERSION`].
    pub(crate) async fn compact(&self) {
        let Some(etcd) = &self.etcd else { return };
        let post = async |path: &str, body: String| -> serde_json::Value {
            let request = http::Request::post(format!("{etcd}{path}"))
                .body(Full::new(Bytes::from(body)))
                .expect("a request");
            let answer = self.client.request(request).await.expect("an answer of etcd");
            assert!(answer.status().is_success(), "etcd: {}", answer.status());
            let body = answer.into_body().collect().await.expect("an answer of etcd").to_bytes();
            serde_json::from_slice(&body).expect("JSON of etcd")
        };
        // A key that the API server does not read; the header has the revision.
        let write = async || -> u64 {
            let answer = post("/v3/kv/put", r#"{"key":"eA==","value":""}"#.to_owned()).await;
            answer["header"]["revision"].as_str().and_then(|text| text.parse().ok()).expect("a revision")
        };
        let mut revision = write().await;
        while revision < FIRST_VERSION {
            revision = write().await;
        }
        post("/v3/kv/compaction", format!(r#"{{"revision":"{revision}"}}"#)).await;
    }

    /// Waits until the server is ready.
    pub(crate) async fn ready(&self) {
        wait::until(&format!("{} to be ready", self.url), LIMIT, async || {
            match self.quietly("GET", "/readyz", String::new()).await.status {
                200 => Ok(()),
                status => Err(format!("status {status}")),
            }
        })
        .await;
    }
}
