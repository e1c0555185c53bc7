//! The `rest_client_*` metrics of requests, tries and waits.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::Endpoints;
use kube_api::{ApiClient, ApiError, ClientMetrics, Preconditions, RateLimiter};
use prometheus_client::registry::Registry;
use serde_json::json;

use scripted_api::script::{Answer, Script, Step};
use scripted_api::wire::Wire;

const PATH: &str = "/api/v1/namespaces/shop/endpoints/web";
const LONG: Duration = Duration::from_secs(24 * 3600);

/// A client and its metrics.
struct Harness {
    script: Arc<Script>,
    client: ApiClient,
    registry: Registry,
}

impl Harness {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let script = Script::new(steps);
        let mut registry = Registry::default();
        let url = "https://user@10.0.0.1:6443/k8s/clusters/c-1".parse().unwrap();
        let metrics = ClientMetrics::register(&mut registry).of_server(&url);
        let client = ApiClient::new(script.client(), Wire::BOTH[1].0, "test/1.0").with_metrics(&metrics);
        Self { script, client, registry }
    }

    /// Every sample without buckets, by its short name and labels; times in whole seconds.
    fn samples(&self) -> BTreeMap<String, u64> {
        let text = scripted_api::candidates::metrics(&self.registry);
        let samples = text.lines().filter(|line| !line.starts_with('#') && !line.contains("_bucket{"));
        let sample = |line: &str| {
            let (name, value) = line.strip_prefix("rest_client_").unwrap().rsplit_once(' ').unwrap();
            let name = name.replace("host=\"10.0.0.1:6443\",", "").replace('"', "");
            (name, value.split('.').next().unwrap().parse().unwrap())
        };
        samples.map(sample).collect()
    }

    /// Asserts that there are these samples and no others, except of `ignored` metrics.
    fn assert(&self, expected: &[(&str, u64)], ignored: &[&str]) {
        let mut samples = self.samples();
        samples.retain(|name, _| !ignored.iter().any(|ignored| name.starts_with(ignored)));
        let expected: BTreeMap<String, u64> =
            expected.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        assert_eq!(samples, expected);
    }
}

fn answer(code: u16, body: &'static str) -> Answer {
    Answer::new(code, "application/json", body)
}

#[tokio::test(start_paused = true)]
async fn a_request_is_counted_and_measured() {
    let slow = answer(200, "{\"a\":").pause(Duration::from_secs(3)).then("1}");
    let harness =
        Harness::new([Step::new(Method::GET, PATH, slow), Step::new(Method::GET, PATH, answer(404, "gone"))]);
    harness.client.get_raw(PATH).await.unwrap();
    harness.client.get_raw(PATH).await.unwrap_err();
    harness.assert(
        &[
            ("requests_total{code=200,method=GET}", 1),
            ("requests_total{code=404,method=GET}", 1),
            ("request_duration_seconds_count{verb=GET}", 2),
            ("request_duration_seconds_sum{verb=GET}", 3),
            ("request_size_bytes_count{verb=GET}", 2),
            ("request_size_bytes_sum{verb=GET}", 0),
            ("response_size_bytes_count{verb=GET}", 2),
            ("response_size_bytes_sum{verb=GET}", 11),
        ],
        &[],
    );
}

#[tokio::test(start_paused = true)]
async fn retries_are_requests_too_and_the_waits_between_them_belong_to_the_first() {
    let busy = || answer(429, "busy").header("retry-after", "2");
    let harness = Harness::new(
        [busy(), busy(), answer(200, "{}")].map(|answer| Step::new(Method::PATCH, PATH, answer)),
    );
    let limited = harness.client.clone().with_limit(RateLimiter::new(0.2, 1));
    let _: Endpoints = limited.patch(PATH, &json!({"a": 1})).await.unwrap();
    harness.assert(
        &[
            ("requests_total{code=429,method=PATCH}", 2),
            ("requests_total{code=200,method=PATCH}", 1),
            ("request_retries_total{code=429,verb=PATCH}", 1),
            ("request_retries_total{code=200,verb=PATCH}", 1),
            ("request_duration_seconds_count{verb=PATCH}", 1),
            // 2 s that the server asks for are part of the 5 s between two requests.
            ("request_duration_seconds_sum{verb=PATCH}", 10),
            ("rate_limiter_duration_seconds_count{verb=PATCH}", 3),
            ("rate_limiter_duration_seconds_sum{verb=PATCH}", 6),
            ("request_size_bytes_count{verb=PATCH}", 3),
            ("request_size_bytes_sum{verb=PATCH}", 21),
            ("response_size_bytes_count{verb=PATCH}", 1),
            ("response_size_bytes_sum{verb=PATCH}", 2),
        ],
        &[],
    );
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_request_is_an_error_however_it_ends() {
    let harness = Harness::new(
        [Answer::never(), Answer::never()].map(|answer| Step::new(Method::DELETE, PATH, answer)),
    );
    let anything = Preconditions::default();
    let delete = || harness.client.delete(PATH, &anything);
    let error = delete().await.unwrap_err();
    assert!(matches!(error, ApiError::Timeout(_)));
    // The caller cancels the request.
    tokio::time::timeout(Duration::from_secs(5), delete()).await.unwrap_err();
    harness.script.played(LONG).await;
    harness.assert(
        &[
            ("requests_total{code=<error>,method=DELETE}", 2),
            ("request_duration_seconds_count{verb=DELETE}", 2),
            ("request_duration_seconds_sum{verb=DELETE}", 73),
        ],
        &["request_size"],
    );
}
