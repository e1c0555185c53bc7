//! Reads and writes of single objects, and the opening of lists and watches.

use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::client::Body;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::encoding::{Encoding, Object};
use crate::error::{ApiError, Status};
use crate::leadership::Leadership;
use crate::metrics::{ClientMetrics, ServerMetrics};
use crate::rate_limit::RateLimiter;
use crate::service_account::ServiceAccount;
use crate::version_guard::VersionGuard;

/// How long one read may take, its answer included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long one write may take, its answer included: longer than the 60 s after which the API server gives up. A webhook
/// that is dead and may be ignored costs up to 30 s of them, and only then the write is done.
const WRITE_TIMEOUT: Duration = Duration::from_secs(68);
/// How often a request is sent again that has not reached the server.
const MAX_RESENDS: u32 = 3;
/// The pause before that.
const RESEND_DELAY: Duration = Duration::from_millis(100);
/// A request is not sent again after this time: the caller's own back-off is the better place.
const RESEND_WITHIN: Duration = Duration::from_secs(10);
/// How often a request is repeated when the server asks for it with `Retry-After` (client-go: 10).
const MAX_RETRIES: u32 = 10;
/// The longest `Retry-After` that is waited for; beyond it the caller's own back-off is the better place.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);
/// The largest answer that is read: well above what etcd can store.
const MAX_ANSWER: usize = 64 << 20;
/// The largest list that is read in one answer: two million Pods.
const MAX_LIST: usize = 4 << 30;
/// How long that may take as a whole. The API server gives up after 60 s unless `--request-timeout` says otherwise.
const LIST_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A client of the API server for one user agent, with its own bound on requests.
///
/// Cheap to clone; clones share the connections and the bound.
#[derive(Clone)]
pub struct ApiClient {
    client: kube::Client,
    encoding: Encoding,
    user_agent: HeaderValue,
    limiter: Option<Arc<RateLimiter>>,
    leadership: Option<Leadership>,
    shutdown: Option<watch::Receiver<bool>>,
    service_account: Option<Arc<ServiceAccount>>,
    metrics: Arc<ServerMetrics>,
    version_guard: VersionGuard,
}

/// What must still be true of an object for it to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// It is the same object, not a new one of the same name.
    pub uid: Option<String>,
    /// It has not changed.
    pub resource_version: Option<String>,
}

impl ApiClient {
    /// A client without a bound on requests, as for list-watches. `user_agent` must be a valid header value;
    /// characters that aren't are dropped.
    pub fn new(client: kube::Client, encoding: Encoding, user_agent: &str) -> Self {
        let visible: String = user_agent.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
        let user_agent = HeaderValue::from_str(&visible).unwrap_or_else(|_| HeaderValue::from_static(""));
        // Until there are others, nobody sees these.
        let metrics = Arc::new(ClientMetrics::default().of_server(&http::Uri::default()));
        Self {
            client,
            encoding,
            user_agent,
            limiter: None,
            leadership: None,
            shutdown: None,
            service_account: None,
            metrics,
            version_guard: VersionGuard::default(),
        }
    }

    /// The same client, counting in `metrics`.
    #[must_use]
    pub fn with_metrics(self, metrics: &ServerMetrics) -> Self {
        Self { metrics: Arc::new(metrics.clone()), ..self }
    }

    /// The same client with the rights of a service account. Its connection must be anonymous, as of
    /// [`connect_anonymously`](super::connect_anonymously): other credentials would come on top.
    #[must_use]
    pub fn with_service_account(self, account: ServiceAccount) -> Self {
        Self { service_account: Some(Arc::new(account)), ..self }
    }

    /// The same client with a bound on its requests.
    #[must_use]
    pub fn with_limit(self, limiter: RateLimiter) -> Self {
        Self { limiter: Some(Arc::new(limiter)), ..self }
    }

    /// The same client, for writes of the leader only.
    ///
    /// Without leadership a write fails with [`ApiError::NotLeader`] and is not sent. If leadership is lost while a write
    /// is under way, its connection is given up, so that the API server drops what it has not done yet. Reads are free.
    #[must_use]
    pub fn with_leadership(self, leadership: Leadership) -> Self {
        Self { leadership: Some(leadership), ..self }
    }

    /// The same client, whose answers are compared with those of other clients of the same API server: if they show that
    /// its storage was restored from a backup, all list-watches of these clients list anew.
    #[must_use]
    pub fn with_version_guard(self, version_guard: VersionGuard) -> Self {
        Self { version_guard, ..self }
    }

    /// The resourceVersions that answers to this client are compared with.
    pub fn version_guard(&self) -> &VersionGuard {
        &self.version_guard
    }

    /// The same client, whose writes may take 30 s instead of 68 s once this is true, counted from when they began: the end
    /// of the process does not wait for a slow webhook.
    #[must_use]
    pub fn with_shutdown(self, shutdown: watch::Receiver<bool>) -> Self {
        Self { shutdown: Some(shutdown), ..self }
    }

    /// The encoding of what is sent.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The name of this client in `metadata.managedFields` of what it writes: its user agent up to the first slash
    /// (`k8s.io/apiserver` `pkg/endpoints/handlers/create.go` `managerOrUserAgent`).
    pub fn field_manager(&self) -> &str {
        let user_agent = self.user_agent.to_str().unwrap_or_default();
        user_agent.split_once('/').map_or(user_agent, |(manager, _)| manager)
    }

    /// Reads the object at `path` as it is now.
    pub async fn get<T: Object>(&self, path: &str) -> Result<T, ApiError> {
        let (headers, body) = self.answer(Method::GET, path, Vec::new()).await?;
        Encoding::of_answer(&headers).decode(&body)
    }

    /// Creates an object: POST to the collection at `path`, such as `/api/v1/namespaces/default/events`.
    pub async fn create<T: Object>(&self, path: &str, object: &T) -> Result<T, ApiError> {
        self.write(Method::POST, path, self.encoding.encode(object)?).await
    }

    /// Replaces the object at `path`. With a resourceVersion in it, only if it has not changed since.
    pub async fn update<T: Object>(&self, path: &str, object: &T) -> Result<T, ApiError> {
        self.write(Method::PUT, path, self.encoding.encode(object)?).await
    }

    /// Changes the object at `path` by a strategic merge patch.
    pub async fn patch<T: Object>(&self, path: &str, patch: &serde_json::Value) -> Result<T, ApiError> {
        self.write(Method::PATCH, path, patch.to_string().into_bytes()).await
    }

    /// Deletes the object at `path` if the preconditions hold.
    pub async fn delete(&self, path: &str, preconditions: &Preconditions) -> Result<(), ApiError> {
        let options = kube_protobuf::DeleteOptions {
            uid: preconditions.uid.clone(),
            resource_version: preconditions.resource_version.clone(),
            ..kube_protobuf::DeleteOptions::default()
        };
        let body = match self.encoding {
            Encoding::Protobuf => kube_protobuf::wrap("v1", "DeleteOptions", &options.encode()),
            Encoding::Json => delete_options_json(preconditions),
        };
        self.write_raw(Method::DELETE, path, body).await.map(drop)
    }

    /// Reads whatever is at `path`, undecoded; for `/version` and `/readyz`.
    pub async fn get_raw(&self, path: &str) -> Result<Bytes, ApiError> {
        self.answer(Method::GET, path, Vec::new()).await.map(|(_, body)| body)
    }

    /// Creates an object of a kind that travels as JSON only, such as a `TokenReview`: POST to `path`.
    pub async fn create_json<T: Serialize + DeserializeOwned>(
        &self,
        path: &str,
        object: &T,
    ) -> Result<T, ApiError> {
        let body = serde_json::to_vec(object).map_err(ApiError::malformed)?;
        self.in_json().answer_json(Method::POST, path, body).await
    }

    /// Reads an object of a kind that travels as JSON only, such as a `ConfigMap`.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        self.in_json().answer_json(Method::GET, path, Vec::new()).await
    }

    fn in_json(&self) -> Self {
        Self { encoding: Encoding::Json, ..self.clone() }
    }

    async fn answer_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<T, ApiError> {
        let (_, answer) = self.answer(method, path, body).await?;
        serde_json::from_slice(&answer).map_err(ApiError::malformed)
    }

    /// Opens a watch; the caller reads the body. Only the wait for the header is bounded here.
    pub async fn open(
        &self,
        path_and_query: &str,
        header_timeout: Duration,
    ) -> Result<Response<Body>, ApiError> {
        let no_body = Bytes::new();
        let response =
            within(header_timeout, self.send(&Method::GET, path_and_query, &no_body, false)).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = within(REQUEST_TIMEOUT, read_all(body)).await?;
        Err(refusal(parts.status, &parts.headers, &body))
    }

    /// Reads a page of a list. The body may take the usual time, from the header on.
    pub async fn page(
        &self,
        path_and_query: &str,
        header_timeout: Duration,
    ) -> Result<(Encoding, Bytes), ApiError> {
        self.list(path_and_query, header_timeout, |body| within(REQUEST_TIMEOUT, read_all(body))).await
    }

    /// Reads a list that is not cut into pages, of up to 4 GiB. The body may take ten minutes, as long as it goes on coming;
    /// `came` is called for each piece of it.
    pub async fn whole_list(
        &self,
        path_and_query: &str,
        header_timeout: Duration,
        came: impl Fn(),
    ) -> Result<(Encoding, Bytes), ApiError> {
        let read = |body| within(LIST_TIMEOUT, read_while_it_comes(body, came));
        self.list(path_and_query, header_timeout, read).await
    }

    async fn list<F: Future<Output = Result<Bytes, ApiError>>>(
        &self,
        path_and_query: &str,
        header_timeout: Duration,
        read: impl FnOnce(Body) -> F,
    ) -> Result<(Encoding, Bytes), ApiError> {
        let running = self.metrics.request(&Method::GET);
        running.sent(0);
        let response = self.open(path_and_query, header_timeout).await?;
        let encoding = Encoding::of_answer(response.headers());
        let body = read(response.into_body()).await?;
        running.received(body.len());
        Ok((encoding, body))
    }

    async fn write<T: Object>(&self, method: Method, path: &str, body: Vec<u8>) -> Result<T, ApiError> {
        let (headers, body) = self.write_raw(method, path, body).await?;
        Encoding::of_answer(&headers).decode(&body)
    }

    /// Writes as long as this process may; waits for a place in the limiter and for the server included.
    async fn write_raw(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<(HeaderMap, Bytes), ApiError> {
        let work = self.answer(method, path, body);
        match &self.leadership {
            None => work.await,
            Some(leadership) => leadership.while_held(work).await.unwrap_or(Err(ApiError::NotLeader)),
        }
    }

    /// Sends a request and reads the answer; again if the server asks for it, or if it was not reached at all. A write whose
    /// fate is unknown is not sent again.
    async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<(HeaderMap, Bytes), ApiError> {
        let body = Bytes::from(body);
        let running = self.metrics.request(&method);
        let start = Instant::now();
        let (mut retries, mut resends) = (0, 0);
        loop {
            if let Some(limiter) = &self.limiter {
                let start = Instant::now();
                limiter.acquire().await;
                running.waited_since(start);
            }
            let exchange = async {
                let is_retry = retries + resends > 0;
                let (parts, answer) = self.send(&method, path, &body, is_retry).await?.into_parts();
                Ok((parts, read_all(answer).await?))
            };
            running.sent(body.len());
            let (parts, answer) = match self.in_time(&method, exchange).await {
                Err(error)
                    if error.never_sent() && resends < MAX_RESENDS && start.elapsed() < RESEND_WITHIN =>
                {
                    resends += 1;
                    sleep(RESEND_DELAY).await;
                    continue;
                }
                outcome => outcome?,
            };
            let delay = retry_after(parts.status, &parts.headers).filter(|_| retries < MAX_RETRIES);
            if let Some(delay) = delay.filter(|delay| *delay <= MAX_RETRY_AFTER) {
                retries += 1;
                sleep(delay).await;
                continue;
            }
            running.received(answer.len());
            return if parts.status.is_success() {
                Ok((parts.headers, answer))
            } else {
                Err(refusal(parts.status, &parts.headers, &answer))
            };
        }
    }

    /// Bounds one try.
    async fn in_time<T>(
        &self,
        method: &Method,
        exchange: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        if *method == Method::GET {
            return within(REQUEST_TIMEOUT, exchange).await;
        }
        let hurried_until = Instant::now() + REQUEST_TIMEOUT;
        let hurried = async {
            if stopping(self.shutdown.clone()).await {
                sleep_until(hurried_until).await;
            } else {
                pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            outcome = within(WRITE_TIMEOUT, exchange) => outcome,
            () = hurried => Err(ApiError::Timeout(REQUEST_TIMEOUT)),
        }
    }

    /// One try. Counted, with the credentials of the service account if there is one.
    async fn send(
        &self,
        method: &Method,
        path: &str,
        body: &Bytes,
        is_retry: bool,
    ) -> Result<Response<Body>, ApiError> {
        let authorization = match &self.service_account {
            Some(account) => Some((account, account.authorization().await?)),
            None => None,
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(ACCEPT, self.encoding.accept())
            .header(USER_AGENT, &self.user_agent);
        if let Some((_, value)) = &authorization {
            request = request.header(AUTHORIZATION, value);
        }
        if *method == Method::PATCH {
            request = request.header(CONTENT_TYPE, "application/strategic-merge-patch+json");
        } else if !body.is_empty() {
            request = request.header(CONTENT_TYPE, self.encoding.content_type());
        }
        let body = Body::from(body.clone());
        let request = request.body(body).map_err(|error| ApiError::Transport(Box::new(error)))?;
        let mut counted = self.metrics.try_of(method, is_retry);
        let response = self.client.send(request).await;
        let response = response.map_err(|error| ApiError::Transport(Box::new(error)))?;
        counted.answered(response.status());
        if let Some((account, value)) =
            authorization.filter(|_| response.status() == StatusCode::UNAUTHORIZED)
        {
            account.reject(&value);
        }
        Ok(response)
    }
}

/// Waits for the shutdown. False if none can come.
async fn stopping(shutdown: Option<watch::Receiver<bool>>) -> bool {
    match shutdown {
        Some(mut shutdown) => shutdown.wait_for(|stopping| *stopping).await.is_ok(),
        None => false,
    }
}

/// What comes of `work`, or [`ApiError::Timeout`] if it takes longer; it is given up then.
pub(crate) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    timeout(limit, work).await.map_err(|_| ApiError::Timeout(limit))?
}

async fn read_all(body: Body) -> Result<Bytes, ApiError> {
    Ok(Limited::new(body, MAX_ANSWER).collect().await.map_err(broken_body)?.to_bytes())
}

/// Reads a large body. Each piece of it may take as long as other answers as a whole.
async fn read_while_it_comes(body: Body, came: impl Fn()) -> Result<Bytes, ApiError> {
    let mut body = Limited::new(body, MAX_LIST);
    let mut bytes = BytesMut::new();
    let silent = |_| ApiError::Timeout(REQUEST_TIMEOUT);
    while let Some(frame) = timeout(REQUEST_TIMEOUT, body.frame()).await.map_err(silent)? {
        if let Ok(data) = frame.map_err(broken_body)?.into_data() {
            bytes.extend_from_slice(&data);
            came();
        }
    }
    Ok(bytes.freeze())
}

fn broken_body(error: Box<dyn Error + Send + Sync>) -> ApiError {
    if error.is::<LengthLimitError>() { ApiError::Malformed(error) } else { ApiError::Transport(error) }
}

fn refusal(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> ApiError {
    let mut status = Status::from_answer(code, Encoding::of_answer(headers), body);
    status.retry_after = status.retry_after.or_else(|| retry_after(code, headers));
    ApiError::Refused(Box::new(status))
}

/// How long the server asks to wait: only overload (429) and failures of its own (5xx) are worth repeating.
fn retry_after(code: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let worth_it = code == StatusCode::TOO_MANY_REQUESTS || code.is_server_error();
    let seconds = headers.get(RETRY_AFTER).filter(|_| worth_it)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn delete_options_json(preconditions: &Preconditions) -> Vec<u8> {
    let mut conditions = serde_json::Map::new();
    let fields = [("uid", &preconditions.uid), ("resourceVersion", &preconditions.resource_version)];
    for (name, value) in fields {
        if let Some(value) = value {
            conditions.insert(name.to_owned(), value.as_str().into());
        }
    }
    serde_json::json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions})
        .to_string()
        .into_bytes()
}
