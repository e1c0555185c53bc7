//! Requests with the tokens of a service account: when a token is requested, and what happens without one.
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use kube_api::error_chain;
use kube_api::{ApiClient, ApiError, Encoding, ServiceAccount, connect};
use serde_json::{Value, json};
use tokio::time::advance;

use scripted_api::loopback::Loopback;
use scripted_api::script::{Answer, Script, Step};

const ACCOUNTS: &str = "/api/v1/namespaces/kube-system/serviceaccounts";
const TOKEN: &str = "/api/v1/namespaces/kube-system/serviceaccounts/endpointslice-controller/token";
const PATH: &str = "/version";
const LONG: Duration = Duration::from_secs(24 * 3600);

fn client(script: &Arc<Script>) -> ApiClient {
    let main = ApiClient::new(script.client(), Encoding::Protobuf, "main/1.0");
    let account = ServiceAccount::new(main, "kube-system", "endpointslice-controller");
    ApiClient::new(script.client(), Encoding::Protobuf, "controller/1.0").with_service_account(account)
}

/// A token request that is answered with this token.
fn token(token: &str, seconds: i64) -> Step {
    // The expiration is by the server's clock, which may be wrong.
    let answer = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {},
        "spec": {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": seconds},
        "status": {"token": token, "expirationTimestamp": "1999-12-31T23:59:59Z"}});
    Step::new(Method::POST, TOKEN, Answer::new(201, "application/json", answer.to_string()))
}

fn no_token(code: u16, reason: &str) -> Step {
    Step::new(Method::POST, TOKEN, refusal(code, reason))
}

fn refusal(code: u16, reason: &str) -> Answer {
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": reason});
    Answer::new(code, "application/json", status.to_string())
}

/// A request is answered.
fn work() -> Step {
    Step::new(Method::GET, PATH, Answer::new(200, "application/json", "{}"))
}

/// The `Authorization` headers of the requests that came, and the paths of those without.
fn authorizations(script: &Script) -> Vec<String> {
    let of = |seen: &scripted_api::script::Seen| match seen.headers.get("authorization") {
        Some(value) => value.to_str().unwrap().to_owned(),
        None => format!("{} {}", seen.method, seen.path),
    };
    script.seen().iter().map(of).collect()
}

fn token_request() -> String {
    format!("POST {TOKEN}")
}

#[tokio::test(start_paused = true)]
async fn a_token_is_requested_once_and_again_after_four_fifths_of_its_lifetime() {
    let script = Script::new([token("a", 3600), work(), work(), work(), token("b", 3600), work(), work()]);
    let client = client(&script);
    client.get_raw(PATH).await.unwrap();
    client.get_raw(PATH).await.unwrap();
    advance(Duration::from_secs(2879)).await;
    client.get_raw(PATH).await.unwrap();
    advance(Duration::from_secs(2)).await;
    client.get_raw(PATH).await.unwrap();
    client.clone().get_raw(PATH).await.unwrap();
    script.played(LONG).await;
    let asked = token_request();
    assert_eq!(
        authorizations(&script),
        [&*asked, "Bearer a", "Bearer a", "Bearer a", &*asked, "Bearer b", "Bearer b"]
    );
    let request = &script.seen()[0];
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["spec"]["expirationSeconds"], 3600);
    assert_eq!(
        (&body["apiVersion"], &body["kind"]),
        (&json!("authentication.k8s.io/v1"), &json!("TokenRequest"))
    );
    assert_eq!(request.headers["user-agent"], "main/1.0");
    assert_eq!(script.seen()[1].headers["user-agent"], "controller/1.0");
}

#[tokio::test(start_paused = true)]
async fn the_granted_lifetime_counts_from_10_minutes_up() {
    for (granted, used_until) in [(1800, 1440), (0, 480), (1, 480)] {
        let script = Script::new([token("a", granted), work(), work(), token("b", granted), work()]);
        let client = client(&script);
        client.get_raw(PATH).await.unwrap();
        advance(Duration::from_secs(used_until - 1)).await;
        client.get_raw(PATH).await.unwrap();
        advance(Duration::from_secs(2)).await;
        client.get_raw(PATH).await.unwrap();
        script.played(LONG).await;
    }
}

#[tokio::test(start_paused = true)]
async fn requests_at_the_same_time_ask_for_one_token() {
    let script = Script::new([token("a", 3600), work(), work(), work()]);
    let client = client(&script);
    let (one, two, three) = tokio::join!(client.get_raw(PATH), client.get_raw(PATH), client.get_raw(PATH));
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    script.played(LONG).await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_account_is_created() {
    for creation in [Answer::new(201, "application/json", "{}"), refusal(409, "AlreadyExists")] {
        let create = Step::new(Method::POST, ACCOUNTS, creation);
        let script = Script::new([no_token(404, "NotFound"), create, token("a", 3600), work()]);
        client(&script).get_raw(PATH).await.unwrap();
        script.played(LONG).await;
        let body: Value = serde_json::from_slice(&script.seen()[1].body).unwrap();
        assert_eq!((&body["apiVersion"], &body["kind"]), (&json!("v1"), &json!("ServiceAccount")));
        let name = json!({"name": "endpointslice-controller", "namespace": "kube-system"});
        assert_eq!(body["metadata"], name);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_token_nothing_is_sent() {
    let forbidden = Step::new(Method::POST, ACCOUNTS, refusal(403, "Forbidden"));
    for steps in [
        vec![no_token(403, "Forbidden")],
        vec![no_token(404, "NotFound"), forbidden],
        vec![token("a\nb", 3600)],
        vec![token("a", -1)],
        vec![Step::new(Method::POST, TOKEN, Answer::new(201, "application/json", "{\"metadata\":{}}"))],
    ] {
        let script = Script::new(steps);
        let error = client(&script).get_raw(PATH).await.unwrap_err();
        assert!(matches!(error, ApiError::Refused(_) | ApiError::Malformed(_)), "{}", error_chain(&error));
        script.played(LONG).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_old_token_is_used_while_no_new_one_comes() {
    let hang = || vec![Step::new(Method::POST, TOKEN, Answer::never())];
    let stall = || vec![Step::new(Method::POST, TOKEN, Answer::new(201, "application/json", "").hang())];
    let busy = || Step::new(Method::POST, TOKEN, refusal(429, "TooManyRequests").header("retry-after", "4"));
    let create = Step::new(Method::POST, ACCOUNTS, Answer::never());
    // Repeated as the server asks: at 0, 4 and 8 s.
    let overload = vec![busy(), busy(), busy()];
    let down = vec![no_token(500, "InternalError")];
    for silence in [hang(), stall(), down, overload, vec![no_token(404, "NotFound"), create]] {
        let mut steps = vec![token("a", 600), work()];
        steps.extend(silence);
        steps.extend([work(), work(), work(), token("b", 600), work()]);
        let script = Script::new(steps);
        let client = client(&script);
        client.get_raw(PATH).await.unwrap();
        advance(Duration::from_secs(481)).await;
        // Requests that wait for the same token take no longer.
        let (one, two) = tokio::join!(client.get_raw(PATH), client.get_raw(PATH));
        one.and(two).unwrap();
        client.get_raw(PATH).await.unwrap();
        advance(Duration::from_secs(11)).await;
        client.get_raw(PATH).await.unwrap();
        script.played(LONG).await;
        let sent = authorizations(&script);
        assert_eq!(sent.iter().filter(|value| *value == "Bearer a").count(), 4);
        assert_eq!(sent.last().unwrap(), "Bearer b");
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_token_that_does_not_come_is_not_waited_for_longer() {
    let hang = Step::new(Method::POST, TOKEN, Answer::never());
    let script = Script::new([hang, token("a", 600), work()]);
    let client = client(&script);
    let error = client.get_raw(PATH).await.unwrap_err();
    assert!(matches!(error, ApiError::Timeout(limit) if limit == Duration::from_secs(25)), "{error}");
    client.get_raw(PATH).await.unwrap();
    script.played(LONG).await;
}

/// As over a new connection that takes this long.
#[tokio::test(start_paused = true)]
async fn a_first_token_may_take_as_long_as_a_new_connection() {
    let answered = Script::new([token("a", 600)]);
    let slow = {
        let answered = Arc::clone(&answered);
        tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let service = answered.client();
            async move {
                tokio::time::sleep(Duration::from_secs(20)).await;
                service.send(request).await
            }
        })
    };
    let main = ApiClient::new(kube::Client::new(slow, "default"), Encoding::Protobuf, "main/1.0");
    let account = ServiceAccount::new(main, "kube-system", "endpointslice-controller");
    let script = Script::new([work()]);
    let client = ApiClient::new(script.client(), Encoding::Protobuf, "controller/1.0");
    client.with_service_account(account).get_raw(PATH).await.unwrap();
    assert_eq!(authorizations(&script), ["Bearer a"]);
    script.played(LONG).await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_accepted_is_not_sent_again() {
    let refused = Step::new(Method::GET, PATH, refusal(401, "Unauthorized"));
    let script = Script::new([token("a", 3600), refused, token("b", 3600), work()]);
    let client = client(&script);
    client.get_raw(PATH).await.unwrap_err();
    client.get_raw(PATH).await.unwrap();
    script.played(LONG).await;
    let asked = token_request();
    assert_eq!(authorizations(&script), [&*asked, "Bearer a", &*asked, "Bearer b"]);
}

#[tokio::test]
async fn only_the_account_s_credentials_are_sent() {
    let script = Script::new([token("a", 3600), work()]);
    let server = Loopback::start(&script);
    let mut config = Loopback::config(server.address);
    config.auth_info.token = Some("of the kubeconfig".to_owned().into());
    let main = ApiClient::new(connect(&config).unwrap(), Encoding::Json, "main/1.0");
    let account = ServiceAccount::new(main, "kube-system", "endpointslice-controller");
    config.auth_info = kube::config::AuthInfo::default();
    let client = ApiClient::new(connect(&config).unwrap(), Encoding::Json, "controller/1.0");
    client.with_service_account(account).get_raw(PATH).await.unwrap();
    let sent: Vec<Vec<_>> = script
        .seen()
        .iter()
        .map(|seen| seen.headers.get_all("authorization").iter().cloned().collect())
        .collect();
    assert_eq!(sent, [["Bearer of the kubeconfig"], ["Bearer a"]]);
}
