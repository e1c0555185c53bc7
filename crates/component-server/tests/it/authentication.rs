//! Authentication and authorization of requests. Expectations are the responses of a real kube-controller-manager.

use component_server::{AuthenticationOptions, Authenticator, LoadError, Peer};
use http::{Method, StatusCode};
use tempfile::TempDir;

use crate::support::client::{Options, fetch, get_as};
use crate::support::fake_api::FakeApi;
use crate::support::log::Log;
use crate::support::{Setup, TestServer};
use scripted_api::pki::{Authority, Identity, write};

const UNAUTHORIZED: &str = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\
                            \"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n";

fn forbidden(user: &str, verb_and_path: &str) -> String {
    let (verb, path) = verb_and_path.split_once(' ').unwrap();
    format!(
        "{{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{{}},\"status\":\"Failure\",\"message\":\
         \"forbidden: User \\\"{user}\\\" cannot {verb} path \\\"{path}\\\"\",\"reason\":\"Forbidden\",\"details\":{{}},\
         \"code\":403}}\n"
    )
}

struct Fixture {
    clients: Authority,
    proxies: Authority,
    server: TestServer,
    _directory: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let (clients, proxies) = (Authority::new("client-ca"), Authority::new("proxy-ca"));
        let directory = tempfile::tempdir().unwrap();
        let files = [("clients.crt", &clients.certificate_pem), ("proxies.crt", &proxies.certificate_pem)];
        let [client_file, proxy_file] = files.map(|(name, pem)| write(directory.path(), name, pem));
        let server = Setup::trusting(&client_file, &proxy_file).start().await;
        Self { clients, proxies, server, _directory: directory }
    }

    async fn get(&self, identity: Option<&Identity>, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let options = Options { identity, ..Options::default() };
        let response = fetch(self.server.address, &options, Method::GET, path, headers).await;
        assert_eq!(response.header("cache-control"), "no-cache, private");
        let nosniff = if response.status == StatusCode::UNAUTHORIZED { "" } else { "nosniff" };
        if !response.status.is_success() {
            assert_eq!(response.header("x-content-type-options"), nosniff);
        }
        (response.status.as_u16(), response.body)
    }
}

const NOT_FOUND: &str = "404 page not found\n";

#[tokio::test]
async fn anonymous_clients_may_use_only_paths_that_are_always_allowed() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.get(None, "/healthz", &[]).await, (200, "ok".into()));
    for path in ["/metrics", "/healthz/", "/healthz/ping", "/", "//healthz", "/flagz", "/no-such"] {
        let expected = forbidden("system:anonymous", &format!("get {path}"));
        assert_eq!(fixture.get(None, path, &[]).await, (403, expected), "{path}");
    }
    let reviews = fixture.server.api.reviews();
    let anonymous = "system:anonymous of system:unauthenticated may get /metrics";
    assert_eq!(reviews.iter().filter(|review| *review == anonymous).count(), 1, "{reviews:?}");
    assert!(reviews.iter().all(|review| !review.starts_with("token")), "{reviews:?}");
}

#[tokio::test]
async fn a_response_to_head_has_no_body() {
    let fixture = Fixture::new().await;
    for http2 in [false, true] {
        let options = Options { http2, ..Options::default() };
        for (path, status, length) in [("/metrics", 403, "193"), ("/healthz", 200, "2")] {
            let response = fetch(fixture.server.address, &options, Method::HEAD, path, &[]).await;
            assert_eq!((response.status.as_u16(), response.body.as_str()), (status, ""), "{path}");
            assert_eq!(response.header("content-length"), length);
        }
        let token = [("authorization", "Bearer bad-token")];
        assert_eq!(fetch(fixture.server.address, &options, Method::HEAD, "/", &token).await.status, 401);
    }
}

#[tokio::test]
async fn the_log_says_whose_credentials_are_rejected() {
    let (log, _guard) = Log::collect();
    let fixture = Fixture::new().await;
    assert_eq!(fixture.get(None, "/metrics", &[("authorization", "Bearer bad-token")]).await.0, 401);
    let text = log.text();
    let line = |of: &str| {
        text.lines().filter(|line| line.contains("Unable to authenticate")).any(|line| line.contains(of))
    };
    assert!(line("peer=127.0.0.1") && !line("certificate="), "{text}");
    let foreign = Authority::new("client-ca").client_called("bob", &["devs"]);
    assert_eq!(fixture.get(Some(&foreign), "/metrics", &[]).await.0, 401);
    let text = log.text();
    assert!(text.contains("certificate=\"serial ") && text.contains("subject CN=bob,O=devs\""), "{text}");
}

#[tokio::test]
async fn token_reviews_are_cached() {
    let fixture = Fixture::new().await;
    let address = fixture.server.address;
    for _ in 0..3 {
        let response = get_as(address, "monitor-token", "/metrics").await;
        assert_eq!((response.status.as_u16(), response.body.as_str()), (200, "# TYPE up gauge\nup 1\n"));
        let response = get_as(address, "admin-token", "/no-such").await;
        assert_eq!((response.status.as_u16(), response.body.as_str()), (404, NOT_FOUND));
        let response = get_as(address, "user-token", "/metrics").await;
        let message =
            r#""message":"forbidden: User \"jane\" cannot get path \"/metrics\": not \u003cyou\u003e","#;
        assert!(response.status == 403 && response.body.contains(message), "{response:?}");
        for path in ["/metrics", "/healthz"] {
            let response = get_as(address, "bad-token", path).await;
            assert_eq!((response.status.as_u16(), response.body.as_str()), (401, UNAUTHORIZED));
        }
    }
    let mut reviews = fixture.server.api.reviews();
    reviews.sort();
    let expected = [
        "jane of devs+system:authenticated may get /metrics",
        "mona of system:monitoring+system:authenticated may get /metrics",
        "token admin-token",
        "token bad-token",
        "token monitor-token",
        "token user-token",
    ];
    assert_eq!(reviews, expected);
}

#[tokio::test]
async fn a_failed_review_denies_the_request_and_is_not_cached() {
    let fixture = Fixture::new().await;
    let api = &fixture.server.api;
    assert_eq!(get_as(fixture.server.address, "broken-token", "/metrics").await.body, UNAUTHORIZED);
    api.set_down(true);
    assert_eq!(get_as(fixture.server.address, "monitor-token", "/metrics").await.status, 401);
    let (status, body) = fixture.get(None, "/metrics?x=1", &[]).await;
    let expected = "Internal Server Error: \"/metrics?x=1\": the API server is unavailable\n";
    assert_eq!((status, body.as_str()), (500, expected));
    assert_eq!(fixture.get(None, "/healthz", &[]).await, (200, "ok".into()), "needs no review");
    api.set_down(false);
    assert_eq!(get_as(fixture.server.address, "monitor-token", "/metrics").await.status, 200);
    assert_eq!(fixture.get(None, "/metrics", &[]).await.0, 403);
}

#[tokio::test]
async fn client_certificates_name_user_and_groups() {
    let fixture = Fixture::new().await;
    let bob = fixture.clients.client_called("bob", &["devs"]);
    assert_eq!(fixture.get(Some(&bob), "/metrics", &[]).await, (403, forbidden("bob", "get /metrics")));
    assert_eq!(fixture.server.api.reviews(), ["bob of devs+system:authenticated may get /metrics"]);
    let root = fixture.clients.client_called("root", &["system:masters"]);
    assert_eq!(fixture.get(Some(&root), "/no-such", &[]).await, (404, NOT_FOUND.into()));
    // Headers of a front proxy are ignored from other clients.
    let headers = [("x-remote-user", "ann"), ("x-remote-group", "system:masters")];
    assert_eq!(fixture.get(Some(&bob), "/metrics", &headers).await, (403, forbidden("bob", "get /metrics")));
    assert_eq!(
        fixture.get(None, "/metrics", &headers).await.1,
        forbidden("system:anonymous", "get /metrics")
    );
}

#[tokio::test]
async fn invalid_certificates_are_rejected_unless_a_token_is_valid() {
    let fixture = Fixture::new().await;
    let rogue = Authority::new("client-ca").client_called("rogue", &["system:masters"]);
    let nameless = fixture.clients.client_called("", &["devs"]);
    let server = fixture.clients.issue("bob");
    for identity in [&rogue, &nameless, &server] {
        for path in ["/metrics", "/healthz"] {
            assert_eq!(fixture.get(Some(identity), path, &[]).await, (401, UNAUTHORIZED.into()), "{path}");
        }
        let token = [("authorization", "Bearer admin-token")];
        assert_eq!(fixture.get(Some(identity), "/no-such", &token).await.0, 404);
    }
}

#[tokio::test]
async fn a_front_proxy_names_the_user_in_headers() {
    let fixture = Fixture::new().await;
    let front = fixture.proxies.client_called("front", &[]);
    assert_eq!(
        fixture.get(Some(&front), "/metrics", &[]).await,
        (401, UNAUTHORIZED.into()),
        "no user in the headers"
    );
    let headers = [
        ("x-remote-user", "ann"),
        ("x-remote-group", "g1"),
        ("x-remote-group", "g2"),
        ("authorization", "Bearer bad-token"),
    ];
    assert_eq!(
        fixture.get(Some(&front), "/metrics", &headers).await,
        (403, forbidden("ann", "get /metrics"))
    );
    assert_eq!(fixture.server.api.reviews(), ["ann of g1+g2+system:authenticated may get /metrics"]);
    let other = fixture.proxies.client_called("other", &[]);
    assert_eq!(fixture.get(Some(&other), "/metrics", &headers[..2]).await, (401, UNAUTHORIZED.into()));
}

#[tokio::test]
async fn the_cluster_configures_the_trusted_cas() {
    let (clients, proxies) = (Authority::new("client-ca"), Authority::new("proxy-ca"));
    let setup = Setup::default();
    setup.api.set_config(&[
        ("client-ca-file", &clients.certificate_pem),
        ("requestheader-client-ca-file", &proxies.certificate_pem),
        ("requestheader-allowed-names", r#"["front"]"#),
        ("requestheader-username-headers", r#"["X-Remote-User"]"#),
        ("requestheader-group-headers", r#"["X-Remote-Group"]"#),
        ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#),
    ]);
    let server = setup.start().await;
    let bob = clients.client_called("bob", &[]);
    let options = Options { identity: Some(&bob), ..Options::default() };
    let response = fetch(server.address, &options, Method::GET, "/x", &[]).await;
    assert_eq!(response.body, forbidden("bob", "get /x"));
    let front = proxies.client_called("front", &[]);
    let options = Options { identity: Some(&front), ..Options::default() };
    let response = fetch(server.address, &options, Method::GET, "/x", &[("x-remote-user", "ann")]).await;
    assert_eq!(response.body, forbidden("ann", "get /x"));
}

#[tokio::test]
async fn a_failed_look_up_in_the_cluster_is_fatal_unless_tolerated() {
    let api = FakeApi::default();
    api.set_down(true);
    let load = |options| Authenticator::load(options, Some(api.clone()));
    let error = load(AuthenticationOptions::default()).await.err().unwrap();
    assert!(matches!(error, LoadError::LookUp(_)), "{error}");
    let tolerant =
        AuthenticationOptions { tolerate_lookup_failure: true, ..AuthenticationOptions::default() };
    load(tolerant).await.unwrap();
    api.reviews();
    let skipping = AuthenticationOptions { skip_lookup: true, ..AuthenticationOptions::default() };
    load(skipping).await.unwrap();
    assert!(api.reviews().is_empty());
}

#[tokio::test]
async fn files_without_certificates_are_refused_by_flag() {
    let directory = tempfile::tempdir().unwrap();
    let empty = write(directory.path(), "empty.crt", "nothing\n");
    let mut options =
        AuthenticationOptions { client_ca_file: Some(empty.clone()), ..AuthenticationOptions::default() };
    let error = Authenticator::load(options.clone(), None::<FakeApi>).await.err().unwrap();
    let message =
        format!("--client-ca-file: {}: data does not contain any valid certificates", empty.display());
    assert_eq!(kube_api::error_chain(&error), message);
    options.client_ca_file = None;
    options.request_header.client_ca_file = Some(directory.path().join("missing.crt"));
    let error = Authenticator::load(options, None::<FakeApi>).await.err().unwrap();
    let message = kube_api::error_chain(&error);
    assert!(message.starts_with("--requestheader-client-ca-file: cannot read "), "{message}");
}

#[tokio::test]
async fn without_an_api_server_tokens_are_ignored() {
    let options = AuthenticationOptions::default();
    let authenticator = Authenticator::load(options, None::<FakeApi>).await.unwrap();
    let headers = [(http::header::AUTHORIZATION, "Bearer x".parse().unwrap())].into_iter().collect();
    let peer = Peer::new([127, 0, 0, 1].into(), Vec::new());
    assert!(authenticator.authenticate(&peer, &headers).await.unwrap().is_anonymous());
}
