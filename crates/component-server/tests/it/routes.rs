//! Pages. Expectations are the responses of a real kube-controller-manager to the same requests.

use crate::support::client::{Client, Options, Response, get_as, request};
use crate::support::log::Log;
use crate::support::{Setup, TestServer};
use axum::body::Body;
use http::Method;

const HTML: &str = "text/html; charset=utf-8";
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

    async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut headers = headers.to_vec();
        headers.push(("authorization", "Bearer admin-token"));
        let request = request(method, path, &headers).map(|_| Body::from(body.to_owned()));
        self.client.send(request).await.unwrap()
    }

    async fn accepting(&mut self, path: &str, accept: &str) -> Response {
        self.send("GET", path, &[("accept", accept)], "").await
    }
}

#[tokio::test]
async fn pages_have_the_status_codes_types_and_bodies_of_upstream() {
    let index = "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n\
                 <table>\n<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n";
    let configz = r#"{"some.config.k8s.io":{"kind":"SomeConfiguration"}}"#;
    let not_found = "404 page not found\n";
    let wrong_method = "unsupported http method\n";
    let parse = "strconv.ParseUint: parsing";
    let cases: &[(&str, &str, &str, u16, &str, &str)] = &[
        ("GET", "/healthz", "", 200, PLAIN, "ok"),
        ("POST", "/healthz", "", 200, PLAIN, "ok"),
        ("GET", "/healthz?verbose", "", 200, PLAIN, "[+]a ok\n[+]group/b ok\nhealthz check passed\n"),
        ("GET", "/livez?verbose", "", 200, PLAIN, "[+]ping ok\nlivez check passed\n"),
        ("GET", "/readyz", "", 200, PLAIN, "ok"),
        ("GET", "/healthz/", "", 404, PLAIN, not_found),
        ("GET", "/healthz/a", "", 200, PLAIN, "ok"),
        ("GET", "/healthz/group/b", "", 200, PLAIN, "ok"),
        ("GET", "/healthz/c", "", 404, PLAIN, not_found),
        ("GET", "/", "", 404, PLAIN, not_found),
        ("GET", "/foo", "", 404, PLAIN, not_found),
        ("GET", "/debug/pprof", "", 404, PLAIN, not_found),
        ("GET", "/metrics", "", 200, METRICS, "# TYPE up gauge\nup 1\n"),
        ("POST", "/metrics", "", 200, METRICS, "# TYPE up gauge\nup 1\n"),
        ("DELETE", "/metrics/slis", "", 200, PLAIN, "metrics reset\n"),
        ("GET", "/configz", "", 200, "application/json", configz),
        ("POST", "/configz", "", 200, "application/json", configz),
        ("GET", "/debug/flags", "", 200, HTML, index),
        ("GET", "/debug/flags/", "", 200, HTML, index),
        ("GET", "/debug/flags/w", "", 200, HTML, index),
        ("GET", "/debug/flags/v", "", 406, "text/plain", wrong_method),
        ("PUT", "/debug/flags/v", "5", 200, "text/plain", "successfully set klog.logging.verbosity to 5\n"),
        ("PUT", "/debug/flags/v", "abc", 400, "text/plain", &format!("{parse} \"abc\": invalid syntax\n")),
        ("PUT", "/debug/flags/v", "-1", 400, "text/plain", &format!("{parse} \"-1\": invalid syntax\n")),
        (
            "PUT",
            "/debug/flags/v",
            "4294967296",
            400,
            "text/plain",
            &format!("{parse} \"4294967296\": value out of range\n"),
        ),
        ("PUT", "/debug/flags/v", "100", 400, "text/plain", "too high\n"),
    ];
    for http2 in [false, true] {
        let mut fixture = Fixture::new(http2).await;
        fixture.server.checks.register("a", || Ok(()));
        fixture.server.checks.register("group/b", || Ok(()));
        for (method, path, body, status, content_type, text) in cases {
            let response = fixture.send(method, path, &[], body).await;
            let got = (response.status.as_u16(), response.header("content-type"), response.body.as_str());
            assert_eq!(got, (*status, *content_type, *text), "{method} {path} {body}");
            assert_eq!(response.header("cache-control"), "no-cache, private");
        }
    }
}

#[tokio::test]
async fn only_the_page_of_a_check_shows_why_it_fails() {
    let mut fixture = Fixture::new(true).await;
    fixture.server.checks.register("informer-sync", || Err("pods not yet".to_owned()));
    let response = fixture.send("GET", "/readyz", &[], "").await;
    let text = "[-]informer-sync failed: reason withheld\nreadyz check failed\n";
    assert_eq!((response.status.as_u16(), response.body.as_str()), (500, text));
    assert_eq!(response.header("x-content-type-options"), "nosniff");
    let response = fixture.send("GET", "/readyz/informer-sync", &[], "").await;
    let text = "internal server error: pods not yet\n";
    assert_eq!((response.status.as_u16(), response.body.as_str()), (500, text));
    let slis = fixture.send("GET", "/metrics/slis", &[], "").await;
    let line = "kubernetes_healthchecks_total{name=\"informer-sync\",status=\"error\",type=\"readyz\"} 1";
    assert!(slis.body.lines().any(|other| other == line), "{}", slis.body);
    assert!(!slis.body.contains("process_start_time_seconds"), "disabled");
    assert_eq!(slis.header("process-start-time-unix"), "1793546030");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let mut fixture = Fixture::new(false).await;
    let response = fixture.send("PUT", "/debug/flags/v", &[], &"1".repeat(5000)).await;
    assert_eq!(response.status, 400);
    assert!(response.body.starts_with("error reading request body: "), "{}", response.body);
}

const DISCLAIMER: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting \
                          compatibility guarantees and is for debugging purposes only.";

#[tokio::test]
async fn flagz_and_statusz_are_text_by_default() {
    let mut fixture = Fixture::new(true).await;
    let flags = format!("\nsome-component flagz\n{DISCLAIMER}\nbind-address=127.0.0.1\nv=4\n");
    for accept in ["", "*/*", "text/plain", "text/*", "text/html, */*"] {
        let headers = [("accept", accept)];
        let headers = if accept.is_empty() { &[][..] } else { &headers[..] };
        let response = fixture.send("GET", "/flagz", headers, "").await;
        let got = (response.status.as_u16(), response.header("content-type"), response.body.as_str());
        assert_eq!(got, (200, PLAIN, flags.as_str()), "{accept}");
    }
    let status = fixture.send("POST", "/statusz", &[], "").await.body;
    let lines: Vec<&str> = status.lines().collect();
    let title = ["", "some-component statusz", DISCLAIMER, "", "Started: Sun Nov  1 15:13:50 UTC 2026"];
    assert_eq!(lines[..5], title);
    assert!(lines[5].starts_with("Up: ") && lines[5].ends_with(" sec"), "{status}");
    let versions = ["Go version: none", "Binary version: 1.36.3", "Emulation version: 1.36"];
    assert_eq!(lines[6..9], versions);
    assert_eq!(lines[9..], ["Paths: /configz /flagz /healthz /livez /metrics /readyz", "Weather: fair"]);
}

#[tokio::test]
async fn a_failing_check_is_logged_with_its_reason_when_it_begins_to_fail() {
    let (log, _guard) = Log::collect();
    let mut fixture = Fixture::new(false).await;
    let checks = fixture.server.checks.clone();
    for round in 1..=2 {
        checks.register("a", || Err("for a reason".to_owned()));
        for _ in 0..3 {
            assert_eq!(fixture.send("GET", "/readyz", &[], "").await.status, 500);
        }
        let text = log.text();
        assert_eq!(
            text.matches("a check failed: readyz\n[-]a failed: for a reason\n").count(),
            round,
            "{text}"
        );
        checks.register("a", || Ok(()));
        assert_eq!(fixture.send("GET", "/readyz", &[], "").await.status, 200);
    }
}

#[tokio::test]
async fn statusz_may_be_left_out() {
    let server = Setup { statusz: false, ..Setup::default() }.start().await;
    for (path, status) in [("/flagz", 200), ("/statusz", 404)] {
        let response = get_as(server.address, "admin-token", path).await;
        assert_eq!(response.status.as_u16(), status, "{path}: {}", response.body);
    }
}

#[tokio::test]
async fn flagz_and_statusz_are_objects_on_request() {
    let mut fixture = Fixture::new(true).await;
    let response = fixture.accepting("/flagz", "application/json;as=Flagz;g=config.k8s.io;v=v1beta1").await;
    assert_eq!(response.header("content-type"), "application/json;g=config.k8s.io;v=v1beta1;as=Flagz");
    let flagz = "{\"kind\":\"Flagz\",\"apiVersion\":\"config.k8s.io/v1beta1\",\"metadata\":{\"name\":\
                 \"some-component\"},\"flags\":{\"bind-address\":\"127.0.0.1\",\"v\":\"4\"}}\n";
    assert_eq!(response.body, flagz);

    let response =
        fixture.accepting("/statusz", "application/json;as=Statusz;g=config.k8s.io;v=v1beta1").await;
    let start = "{\"kind\":\"Statusz\",\"apiVersion\":\"config.k8s.io/v1beta1\",\"metadata\":{\"name\":\
                 \"some-component\"},\"startTime\":\"2026-11-01T15:13:50Z\",\"uptimeSeconds\":";
    let end = ",\"goVersion\":\"none\",\"binaryVersion\":\"1.36.3\",\"emulationVersion\":\"1.36\",\"paths\":\
               [\"/configz\",\"/flagz\",\"/healthz\",\"/livez\",\"/metrics\",\"/readyz\"]}\n";
    assert!(response.body.starts_with(start) && response.body.ends_with(end), "{}", response.body);
    assert_eq!(response.header("warning"), "");

    let response =
        fixture.accepting("/statusz", "application/yaml;as=Statusz;g=config.k8s.io;v=v1alpha1").await;
    assert_eq!(response.header("content-type"), "application/yaml;g=config.k8s.io;v=v1alpha1;as=Statusz");
    let warning = "299 - \"This version of the statusz endpoint is deprecated. Please use a newer version.\"";
    assert_eq!(response.header("warning"), warning);
    let lines: Vec<&str> = response.body.lines().take(3).collect();
    assert_eq!(
        lines,
        ["apiVersion: config.k8s.io/v1alpha1", "binaryVersion: 1.36.3", "emulationVersion: '1.36'"]
    );
}

#[tokio::test]
async fn other_formats_are_not_acceptable() {
    let mut fixture = Fixture::new(true).await;
    let compact = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\
                   \"only the following media types are accepted: application/json, application/yaml, text/plain\",\
                   \"reason\":\"NotAcceptable\",\"code\":406}\n";
    let response = fixture.accepting("/flagz", "application/json").await;
    assert_eq!((response.status.as_u16(), response.body.as_str()), (406, compact));
    for accept in [
        "text/html",
        "application/json;as=Statusz;g=config.k8s.io;v=v1beta1",
        "application/json;as=Flagz;g=config.k8s.io;v=v9",
        "application/json;as=Flagz;g=elsewhere;v=v1beta1",
        "application/cbor;as=Flagz;g=config.k8s.io;v=v1beta1",
    ] {
        let response = fixture.accepting("/flagz", accept).await;
        assert_eq!(response.status, 406, "{accept}");
        assert!(response.body.starts_with("{\n  \"kind\": \"Status\""), "pretty-printed: {}", response.body);
    }
}
