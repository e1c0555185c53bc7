//! Who gets in, with which credentials, and what the others are told. The expectations are what a real
//! kube-controller-manager answers to the same requests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use component_server::{AuthenticationOptions, Authenticator, LoadError, Peer};
use http::{Method, StatusCode};
use tempfile::TempDir;

use support::client::{Options, fetch, get_as};
use support::fake::FakeApi;
use support::pki::{Authority, Identity, write};
use support::{Running, Setup};

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

struct World {
    clients: Authority,
    proxies: Authority,
    server: Running,
    _folder: TempDir,
}

impl World {
    async fn new() -> Self {
        let (clients, proxies) = (Authority::new("client-ca"), Authority::new("proxy-ca"));
        let folder = tempfile::tempdir().unwrap();
        let files = [("clients.crt", &clients.pem), ("proxies.crt", &proxies.pem)];
        let [client_file, proxy_file] = files.map(|(name, pem)| write(folder.path(), name, pem));
        let server = Setup::trusting(&client_file, &proxy_file).start().await;
        Self { clients, proxies, server, _folder: folder }
    }

    async fn get(&self, identity: Option<&Identity>, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let options = Options { identity, ..Options::default() };
        let answer = fetch(self.server.address, &options, Method::GET, path, headers).await;
        assert_eq!(answer.header("cache-control"), "no-cache, private");
        let nosniff = if answer.status == StatusCode::UNAUTHORIZED { "" } else { "nosniff" };
        if !answer.status.is_success() {
            assert_eq!(answer.header("x-content-type-options"), nosniff);
        }
        (answer.status.as_u16(), answer.body)
    }
}

const NOT_FOUND: &str = "404 page not found\n";

#[tokio::test]
async fn strangers_may_only_see_what_is_always_allowed() {
    let world = World::new().await;
    assert_eq!(world.get(None, "/healthz", &[]).await, (200, "ok".into()));
    for path in ["/metrics", "/healthz/", "/healthz/ping", "/", "//healthz", "/flagz", "/no-such"] {
        let expected = forbidden("system:anonymous", &format!("get {path}"));
        assert_eq!(world.get(None, path, &[]).await, (403, expected), "{path}");
    }
    // No token at all, as far as Kubernetes is concerned.
    for header in ["Basic xx", "Bearer", "Bearer  admin-token"] {
        let (status, _) = world.get(None, "/metrics", &[("authorization", header)]).await;
        assert_eq!(status, 403, "{header}");
    }
    let asked = world.server.api.asked();
    let anonymous = "system:anonymous of system:unauthenticated may get /metrics";
    assert_eq!(asked.iter().filter(|question| *question == anonymous).count(), 1, "{asked:?}");
    assert!(asked.iter().all(|question| !question.starts_with("token")), "{asked:?}");
}

#[tokio::test]
async fn methods_are_verbs_in_lower_case() {
    let world = World::new().await;
    for method in ["POST", "OPTIONS", "PATCH", "FOO"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let answer = fetch(world.server.address, &Options::default(), method.clone(), "/metrics", &[]).await;
        let expected = forbidden("system:anonymous", &format!("{} /metrics", method.as_str().to_lowercase()));
        assert_eq!((answer.status.as_u16(), answer.body), (403, expected));
    }
}

#[tokio::test]
async fn head_has_no_body_whatever_the_answer() {
    let world = World::new().await;
    for http2 in [false, true] {
        let options = Options { http2, ..Options::default() };
        for (path, status, length) in [("/metrics", 403, "193"), ("/healthz", 200, "2")] {
            let answer = fetch(world.server.address, &options, Method::HEAD, path, &[]).await;
            assert_eq!((answer.status.as_u16(), answer.body.as_str()), (status, ""), "{path}");
            assert_eq!(answer.header("content-length"), length);
        }
        let token = [("authorization", "Bearer bad-token")];
        assert_eq!(fetch(world.server.address, &options, Method::HEAD, "/", &token).await.status, 401);
    }
}

#[tokio::test]
async fn tokens_are_reviewed_once() {
    let world = World::new().await;
    let address = world.server.address;
    for _ in 0..3 {
        let answer = get_as(address, "monitor-token", "/metrics").await;
        assert_eq!((answer.status.as_u16(), answer.body.as_str()), (200, "# TYPE up gauge\nup 1\n"));
        let answer = get_as(address, "admin-token", "/no-such").await;
        assert_eq!((answer.status.as_u16(), answer.body.as_str()), (404, NOT_FOUND));
        let answer = get_as(address, "user-token", "/metrics").await;
        let message =
            r#""message":"forbidden: User \"jane\" cannot get path \"/metrics\": not \u003cyou\u003e","#;
        assert!(answer.status == 403 && answer.body.contains(message), "{answer:?}");
        for path in ["/metrics", "/healthz"] {
            let answer = get_as(address, "bad-token", path).await;
            assert_eq!((answer.status.as_u16(), answer.body.as_str()), (401, UNAUTHORIZED));
        }
    }
    let mut asked = world.server.api.asked();
    asked.sort();
    let expected = [
        "jane of devs+system:authenticated may get /metrics",
        "mona of system:monitoring+system:authenticated may get /metrics",
        "token admin-token",
        "token bad-token",
        "token monitor-token",
        "token user-token",
    ];
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn no_answer_to_a_review_lets_nobody_in_and_is_not_remembered() {
    let world = World::new().await;
    let api = &world.server.api;
    assert_eq!(get_as(world.server.address, "broken-token", "/metrics").await.body, UNAUTHORIZED);
    api.set_down(true);
    assert_eq!(get_as(world.server.address, "monitor-token", "/metrics").await.status, 401);
    let (status, body) = world.get(None, "/metrics?x=1", &[]).await;
    let expected = "Internal Server Error: \"/metrics?x=1\": the API server is away\n";
    assert_eq!((status, body.as_str()), (500, expected));
    assert_eq!(world.get(None, "/healthz", &[]).await, (200, "ok".into()), "needs no review");
    api.set_down(false);
    assert_eq!(get_as(world.server.address, "monitor-token", "/metrics").await.status, 200);
    assert_eq!(world.get(None, "/metrics", &[]).await.0, 403);
}

#[tokio::test]
async fn client_certificates_name_user_and_groups() {
    let world = World::new().await;
    let bob = world.clients.client("bob", &["devs"]);
    assert_eq!(world.get(Some(&bob), "/metrics", &[]).await, (403, forbidden("bob", "get /metrics")));
    assert_eq!(world.server.api.asked(), ["bob of devs+system:authenticated may get /metrics"]);
    let root = world.clients.client("root", &["system:masters"]);
    assert_eq!(world.get(Some(&root), "/no-such", &[]).await, (404, NOT_FOUND.into()));
    // Headers of a front proxy mean nothing from anybody else.
    let headers = [("x-remote-user", "ann"), ("x-remote-group", "system:masters")];
    assert_eq!(world.get(Some(&bob), "/metrics", &headers).await, (403, forbidden("bob", "get /metrics")));
    assert_eq!(world.get(None, "/metrics", &headers).await.1, forbidden("system:anonymous", "get /metrics"));
}

#[tokio::test]
async fn certificates_that_prove_nothing_are_rejected_unless_a_token_proves_more() {
    let world = World::new().await;
    let rogue = Authority::new("client-ca").client("rogue", &["system:masters"]);
    let nameless = world.clients.client("", &["devs"]);
    let server = world.clients.server(&["bob"]);
    for identity in [&rogue, &nameless, &server] {
        for path in ["/metrics", "/healthz"] {
            assert_eq!(world.get(Some(identity), path, &[]).await, (401, UNAUTHORIZED.into()), "{path}");
        }
        let token = [("authorization", "Bearer admin-token")];
        assert_eq!(world.get(Some(identity), "/no-such", &token).await.0, 404);
    }
}

#[tokio::test]
async fn front_proxies_speak_for_others() {
    let world = World::new().await;
    let front = world.proxies.client("front", &[]);
    assert_eq!(world.get(Some(&front), "/metrics", &[]).await, (401, UNAUTHORIZED.into()), "for nobody");
    let headers = [
        ("x-remote-user", "ann"),
        ("x-remote-group", "g1"),
        ("x-remote-group", "g2"),
        ("authorization", "Bearer bad-token"),
    ];
    assert_eq!(world.get(Some(&front), "/metrics", &headers).await, (403, forbidden("ann", "get /metrics")));
    assert_eq!(world.server.api.asked(), ["ann of g1+g2+system:authenticated may get /metrics"]);
    let other = world.proxies.client("other", &[]);
    assert_eq!(world.get(Some(&other), "/metrics", &headers[..2]).await, (401, UNAUTHORIZED.into()));
}

#[tokio::test]
async fn the_cluster_says_whom_to_trust() {
    let (clients, proxies) = (Authority::new("client-ca"), Authority::new("proxy-ca"));
    let setup = Setup::default();
    setup.api.set_config(&[
        ("client-ca-file", &clients.pem),
        ("requestheader-client-ca-file", &proxies.pem),
        ("requestheader-allowed-names", r#"["front"]"#),
        ("requestheader-username-headers", r#"["X-Remote-User"]"#),
        ("requestheader-group-headers", r#"["X-Remote-Group"]"#),
        ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#),
    ]);
    let server = setup.start().await;
    let bob = clients.client("bob", &[]);
    let options = Options { identity: Some(&bob), ..Options::default() };
    let answer = fetch(server.address, &options, Method::GET, "/x", &[]).await;
    assert_eq!(answer.body, forbidden("bob", "get /x"));
    let front = proxies.client("front", &[]);
    let options = Options { identity: Some(&front), ..Options::default() };
    let answer = fetch(server.address, &options, Method::GET, "/x", &[("x-remote-user", "ann")]).await;
    assert_eq!(answer.body, forbidden("ann", "get /x"));
}

#[tokio::test]
async fn a_cluster_that_cannot_be_asked_is_fatal_unless_tolerated() {
    let api = FakeApi::default();
    api.set_down(true);
    let load = |options| Authenticator::load(options, Some(api.clone()));
    let error = load(AuthenticationOptions::default()).await.err().unwrap();
    assert!(matches!(error, LoadError::LookUp(_)), "{error}");
    let tolerant =
        AuthenticationOptions { tolerate_lookup_failure: true, ..AuthenticationOptions::default() };
    load(tolerant).await.unwrap();
    api.asked();
    let skipping = AuthenticationOptions { skip_lookup: true, ..AuthenticationOptions::default() };
    load(skipping).await.unwrap();
    assert!(api.asked().is_empty());
}

#[tokio::test]
async fn files_that_hold_no_authority_are_refused_by_flag() {
    let folder = tempfile::tempdir().unwrap();
    let empty = write(folder.path(), "empty.crt", "nothing\n");
    let mut options =
        AuthenticationOptions { client_ca_file: Some(empty.clone()), ..AuthenticationOptions::default() };
    let error = Authenticator::load(options.clone(), None::<FakeApi>).await.err().unwrap();
    let message =
        format!("--client-ca-file: {}: data does not contain any valid certificates", empty.display());
    assert_eq!(kube_api::error_chain(&error), message);
    options.client_ca_file = None;
    options.request_header.client_ca_file = Some(folder.path().join("missing.crt"));
    let error = Authenticator::load(options, None::<FakeApi>).await.err().unwrap();
    let message = kube_api::error_chain(&error);
    assert!(message.starts_with("--requestheader-client-ca-file: cannot read "), "{message}");
}

#[tokio::test]
async fn without_an_api_server_tokens_mean_nothing() {
    let options = AuthenticationOptions::default();
    let authenticator = Authenticator::load(options, None::<FakeApi>).await.unwrap();
    let headers = [(http::header::AUTHORIZATION, "Bearer x".parse().unwrap())].into_iter().collect();
    let peer = Peer::new([127, 0, 0, 1].into(), Vec::new());
    assert!(authenticator.authenticate(&peer, &headers).await.unwrap().is_anonymous());
}
