//! The `rest_client_*` metrics of every Kubernetes component.

use std::sync::Arc;

use crate::time::Instant;
use http::{Method, StatusCode, Uri};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::plain_counter::PlainCounter;

type Histograms = Family<Request, Histogram, fn() -> Histogram>;

/// The metrics of all clients of the process. Cheap to clone; clones share their values.
///
/// Names, types, labels, buckets and help are those of `k8s.io/component-base` (`metrics/prometheus/restclient`). A
/// series appears with the first request that belongs to it.
#[derive(Clone, Debug)]
pub struct ClientMetrics {
    results: Family<Outcome, PlainCounter>,
    retries: Family<Retry, PlainCounter>,
    duration: Histograms,
    limiter: Histograms,
    request_size: Histograms,
    response_size: Histograms,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    host: Arc<str>,
    verb: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    code: Code,
    host: Arc<str>,
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Retry {
    code: Code,
    host: Arc<str>,
    verb: &'static str,
}

/// The status of a response; none if there was no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Code(Option<StatusCode>);

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        match self.0 {
            Some(code) => code.as_str().encode(encoder),
            // Not the error's text: a label should have few values.
            None => "<error>".encode(encoder),
        }
    }
}

impl Default for ClientMetrics {
    /// Metrics that are not registered.
    fn default() -> Self {
        Self {
            results: Family::default(),
            retries: Family::default(),
            duration: Histograms::new_with_constructor(durations),
            limiter: Histograms::new_with_constructor(durations),
            request_size: Histograms::new_with_constructor(sizes),
            response_size: Histograms::new_with_constructor(sizes),
        }
    }
}

impl ClientMetrics {
    /// Adds the metrics to `registry`. A second call on the same registry would expose every name twice.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host";
        registry.register("rest_client_requests_total", help, metrics.results.clone());
        let help = "[ALPHA] Number of request retries, partitioned by status code, verb, and host";
        registry.register("rest_client_request_retries_total", help, metrics.retries.clone());
        let help = "[ALPHA] Request latency in seconds. Broken down by verb, and host";
        registry.register("rest_client_request_duration_seconds", help, metrics.duration.clone());
        let help = "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host";
        registry.register("rest_client_rate_limiter_duration_seconds", help, metrics.limiter.clone());
        let help = "[ALPHA] Request size in bytes. Broken down by verb and host";
        registry.register("rest_client_request_size_bytes", help, metrics.request_size.clone());
        let help = "[ALPHA] Response size in bytes. Broken down by verb and host";
        registry.register("rest_client_response_size_bytes", help, metrics.response_size.clone());
        metrics
    }

    /// The metrics of clients of the API server at `url`.
    pub fn of_server(&self, url: &Uri) -> ServerMetrics {
        let host = match (url.host().unwrap_or_default(), url.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        ServerMetrics { metrics: self.clone(), host: host.into() }
    }
}

fn durations() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0])
}

/// From 64 bytes to 16 MiB.
fn sizes() -> Histogram {
    let bounds = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];
    Histogram::new(bounds.map(f64::from))
}

/// The metrics of clients of one API server.
#[derive(Clone, Debug)]
pub struct ServerMetrics {
    metrics: ClientMetrics,
    host: Arc<str>,
}

impl ServerMetrics {
    /// Observes a request with all its tries. Its duration is recorded on drop.
    pub(crate) fn request(&self, method: &Method) -> Running<'_> {
        Running { server: self, verb: verb(method), start: Instant::now() }
    }

    /// Counts a try on drop.
    pub(crate) fn try_of(&self, method: &Method, is_retry: bool) -> Try<'_> {
        Try { server: self, verb: verb(method), is_retry, code: None }
    }

    fn labels(&self, verb: &'static str) -> Request {
        Request { host: Arc::clone(&self.host), verb }
    }
}

/// A request, with its waits and tries.
pub(crate) struct Running<'a> {
    server: &'a ServerMetrics,
    verb: &'static str,
    start: Instant,
}

impl Running<'_> {
    /// Records the wait for the rate limit since `start`.
    pub(crate) fn waited_since(&self, start: Instant) {
        let seconds = start.elapsed().as_secs_f64();
        self.server.metrics.limiter.get_or_create(&self.server.labels(self.verb)).observe(seconds);
    }

    /// Records the size of a sent body.
    pub(crate) fn sent(&self, bytes: usize) {
        self.server.metrics.request_size.get_or_create(&self.server.labels(self.verb)).observe(float(bytes));
    }

    /// Records the size of the response's body, success or not.
    pub(crate) fn received(&self, bytes: usize) {
        self.server.metrics.response_size.get_or_create(&self.server.labels(self.verb)).observe(float(bytes));
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let seconds = self.start.elapsed().as_secs_f64();
        self.server.metrics.duration.get_or_create(&self.server.labels(self.verb)).observe(seconds);
    }
}

/// A try, which counts as failed unless it is [`answered`](Self::answered), also if it is cancelled.
pub(crate) struct Try<'a> {
    server: &'a ServerMetrics,
    verb: &'static str,
    is_retry: bool,
    code: Option<StatusCode>,
}

impl Try<'_> {
    pub(crate) fn answered(&mut self, code: StatusCode) {
        self.code = Some(code);
    }
}

impl Drop for Try<'_> {
    fn drop(&mut self) {
        let (code, verb, metrics) = (Code(self.code), self.verb, &self.server.metrics);
        let host = || Arc::clone(&self.server.host);
        metrics.results.get_or_create(&Outcome { code, host: host(), method: verb }).inc();
        if self.is_retry {
            metrics.retries.get_or_create(&Retry { code, host: host(), verb }).inc();
        }
    }
}

/// The method as a static label.
fn verb(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "OTHER",
    }
}

#[allow(clippy::cast_precision_loss, reason = "the size of a body in memory is far below 2^52")]
fn float(bytes: usize) -> f64 {
    bytes as f64
}
