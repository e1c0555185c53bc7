//! Pages, where a component determines what they show. That all else in them is as in kube-controller-manager checks
//! `the_same_answers_as_upstream` in tests/.

use crate::support::client::{Client, Options, Response, request};
use crate::support::log::Log;
use crate::support::{Setup, TestServer};
use axum::body::Body;
use http::Method;

const PLAIN: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

struct Fixture {
    server: TestServer,
    client: Client,
}

impl Fixture {
    /// Connects as an administrator.
    async fn new(http2: bool) -> Self {
        let server = Setup::default().start().await;
        let options = Options { http2, ..Options::default() };
        let client = Client::connect(server.address, &options).await.unwrap();
        Self { server, client }
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> Response {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let headers = [("authorization", "Bearer admin-token")];
        let request = request(method, path, &headers).map(|_| Body::from(body.to_owned()));
        self.client.send(request).await.unwrap()
    }
}

#[tokio::test]
async fn pages_show_what_the_component_registers() {
    let cases = [
        ("GET", "/healthz?verbose", "", 200, PLAIN, "[+]a ok\n[+]group/b ok\nhealthz check passed\n"),
        ("GET", "/healthz/group/b", "", 200, PLAIN, "ok"),
        ("GET", "/healthz/c", "", 404, PLAIN, "404 page not found\n"),
        ("POST", "/metrics", "", 200, METRICS, "# TYPE up gauge\nup 1\n"),
        ("PUT", "/debug/flags/v", "5", 200, "text/plain", "successfully set klog.logging.verbosity to 5\n"),
        ("PUT", "/debug/flags/v", "100", 400, "text/plain", "too high\n"),
    ];
    for http2 in [false, true] {
        let mut fixture = Fixture::new(http2).await;
        fixture.server.checks.register("a", || Ok(()));
        fixture.server.checks.register("group/b", || Ok(()));
        for (method, path, body, status, content_type, text) in cases {
            let response = fixture.send(method, path, body).await;
            let got = (response.status.as_u16(), response.header("content-type"), response.body.as_str());
            assert_eq!(got, (status, content_type, text), "{method} {path} {body}");
            assert_eq!(response.header("cache-control"), "no-cache, private");
        }
        let status = fixture.send("GET", "/statusz", "").await.body;
        let lines: Vec<&str> = status.lines().collect();
        assert_eq!(lines[4], "Started: Sun Nov  1 15:13:50 UTC 2026");
        let versions = ["Go version: none", "Binary version: 1.36.3", "Emulation version: 1.36"];
        assert_eq!(lines[6..9], versions);
        assert_eq!(lines[9..], ["Paths: /configz /flagz /healthz /livez /metrics /readyz", "Weather: fair"]);
        let flags = fixture.send("GET", "/flagz", "").await.body;
        assert!(flags.ends_with("\nbind-address=127.0.0.1\nv=4\n"), "{flags}");
    }
}

#[tokio::test]
async fn only_the_page_of_a_check_shows_why_it_fails() {
    let mut fixture = Fixture::new(true).await;
    fixture.server.checks.register("informer-sync", || Err("pods not yet".to_owned()));
    let response = fixture.send("GET", "/readyz", "").await;
    let text = "[-]informer-sync failed: reason withheld\nreadyz check failed\n";
    assert_eq!((response.status.as_u16(), response.body.as_str()), (500, text));
    assert_eq!(response.header("x-content-type-options"), "nosniff");
    assert_eq!(fixture.send("GET", "/readyz?exclude=informer-sync", "").await.body, "ok");
    let response = fixture.send("GET", "/readyz/informer-sync", "").await;
    let text = "internal server error: pods not yet\n";
    assert_eq!((response.status.as_u16(), response.body.as_str()), (500, text));
    let slis = fixture.send("GET", "/metrics/slis", "").await;
    let line = "kubernetes_healthchecks_total{name=\"informer-sync\",status=\"error\",type=\"readyz\"} 1";
    assert!(slis.body.lines().any(|other| other == line), "{}", slis.body);
    assert!(!slis.body.contains("process_start_time_seconds"), "disabled");
    assert_eq!(slis.header("process-start-time-unix"), "1793546030");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let mut fixture = Fixture::new(false).await;
    let response = fixture.send("PUT", "/debug/flags/v", &"1".repeat(5000)).await;
    assert_eq!(response.status, 400);
    assert!(response.body.starts_with("error reading request body: "), "{}", response.body);
}

#[tokio::test]
async fn a_failing_check_is_logged_with_its_reason_when_it_begins_to_fail() {
    let (log, _guard) = Log::collect();
    let mut fixture = Fixture::new(false).await;
    let checks = fixture.server.checks.clone();
    for round in 1..=2 {
        checks.register("a", || Err("for a reason".to_owned()));
        for _ in 0..3 {
            assert_eq!(fixture.send("GET", "/readyz", "").await.status, 500);
        }
        let text = log.text();
        assert_eq!(
            text.matches("a check failed: readyz\n[-]a failed: for a reason\n").count(),
            round,
            "{text}"
        );
        checks.register("a", || Ok(()));
        assert_eq!(fixture.send("GET", "/readyz", "").await.status, 200);
    }
}
