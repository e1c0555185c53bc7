//! Reviews as requests to a scripted API server.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use component_server::{
    AccessReview, AccessReviewStatus, ApiReviews, AuthenticationApi, AuthenticationOptions, Authenticator,
    AuthorizationApi, AuthorizationOptions, Authorizer, Peer, ReviewError, User,
};
use http::Method;
use kube_api::{ApiClient, Encoding};
use scripted_api::script::{Answer, Script, Step};
use serde_json::{Value, json};
use tokio::time::Instant;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKENS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESSES: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// The client prefers protobuf, which shows that reviews are sent as JSON nevertheless.
fn reviews(script: &Arc<Script>) -> ApiReviews {
    ApiReviews::new(ApiClient::new(script.client(), Encoding::Protobuf, "test/1.0"))
}

fn answer(code: u16, body: &Value) -> Answer {
    Answer::new(code, "application/json", body.to_string())
}

fn token_review(status: &Value) -> Step {
    let (kind, version) = ("TokenReview", "authentication.k8s.io/v1");
    let review = json!({"kind": kind, "apiVersion": version, "spec": {"token": "x"}, "status": status});
    Step::new(Method::POST, TOKENS, answer(201, &review))
}

fn access_review(status: &Value) -> Step {
    let (kind, version) = ("SubjectAccessReview", "authorization.k8s.io/v1");
    let review = json!({"kind": kind, "apiVersion": version, "spec": {}, "status": status});
    Step::new(Method::POST, ACCESSES, answer(201, &review))
}

fn refusal(code: u16, reason: &str) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": reason,
        "code": code});
    answer(code, &status)
}

/// The body of the first request.
fn first_body(script: &Script) -> Value {
    let first = &script.seen()[0];
    assert_eq!(first.headers["content-type"], "application/json");
    serde_json::from_slice(&first.body).unwrap()
}

fn ann() -> User {
    User {
        name: "ann".to_owned(),
        uid: "7".to_owned(),
        groups: vec!["devs".to_owned()],
        extra: [("scopes".to_owned(), vec!["a".to_owned(), "b".to_owned()])].into(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_review_returns_the_user() {
    let user = json!({"username": "ann", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["a", "b"]}});
    let script = Script::new([
        token_review(&json!({"authenticated": true, "user": user})),
        token_review(&json!({"authenticated": false})),
        token_review(&json!({"error": "expired"})),
    ]);
    let reviews = reviews(&script);
    assert_eq!(reviews.review_token("secret").await.unwrap(), Some(ann()));
    assert_eq!(reviews.review_token("secret").await.unwrap(), None);
    assert_eq!(reviews.review_token("secret").await.unwrap_err().to_string(), "expired");
    script.check();
    let (kind, version) = ("TokenReview", "authentication.k8s.io/v1");
    assert_eq!(
        first_body(&script),
        json!({"kind": kind, "apiVersion": version, "metadata": {}, "spec": {"token": "secret"}})
    );
}

#[tokio::test(start_paused = true)]
async fn an_access_review_returns_the_decision() {
    let script = Script::new([
        access_review(&json!({"allowed": true, "reason": "rule"})),
        access_review(&json!({"allowed": false})),
        access_review(&json!({"allowed": true, "denied": true})),
    ]);
    let reviews = reviews(&script);
    let access = AccessReview { user: ann(), verb: "get".to_owned(), path: "/metrics".to_owned() };
    let allowed = AccessReviewStatus { allowed: true, reason: "rule".to_owned() };
    assert_eq!(reviews.review_access(&access).await.unwrap(), allowed);
    assert_eq!(reviews.review_access(&access).await.unwrap(), AccessReviewStatus::default());
    let contradiction = reviews.review_access(&access).await.unwrap_err();
    assert!(contradiction.to_string().contains("both allow and deny"), "{contradiction}");
    script.check();
    let spec = json!({"user": "ann", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["a", "b"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"}});
    assert_eq!(first_body(&script)["spec"], spec);
}

#[tokio::test(start_paused = true)]
async fn the_cluster_configuration_is_optional() {
    let config =
        json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}, "data": {"client-ca-file": "pem"}});
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let answers = [answer(200, &config), refusal(404, "NotFound"), refusal(403, "Forbidden")];
    let script = Script::new(answers.map(|answer| Step::new(Method::GET, path, answer)));
    let reviews = reviews(&script);
    assert_eq!(reviews.cluster_config().await.unwrap().unwrap()["client-ca-file"], "pem");
    assert_eq!(reviews.cluster_config().await.unwrap(), None);
    assert!(matches!(reviews.cluster_config().await, Err(ReviewError::Api(_))));
    script.check();
}

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried_and_others_are_not() {
    let yes = || access_review(&json!({"allowed": true}));
    let refused = |code, reason| Step::new(Method::POST, ACCESSES, refusal(code, reason));
    let access = AccessReview { user: ann(), verb: "get".to_owned(), path: "/metrics".to_owned() };
    for (code, reason) in [(500, "InternalError"), (504, "Timeout"), (429, "TooManyRequests")] {
        let script = Script::new([refused(code, reason), refused(code, reason), yes()]);
        let start = Instant::now();
        assert!(reviews(&script).review_access(&access).await.unwrap().allowed);
        let waited = start.elapsed().as_millis();
        // 500 ms and 750 ms, plus up to 20% of jitter.
        assert!((1250..=1502).contains(&waited) && script.seen().len() == 3, "{waited}");
    }
    let script = Script::new((0..6).map(|_| refused(500, "InternalError")));
    assert!(reviews(&script).review_access(&access).await.is_err());
    assert_eq!(script.seen().len(), 5);
    let script = Script::new([refused(403, "Forbidden"), yes()]);
    assert!(reviews(&script).review_access(&access).await.is_err());
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn reviews_are_sent_at_200_a_second_after_a_burst_of_400() {
    let script = Script::new((0..500).map(|_| token_review(&json!({"authenticated": false}))));
    let reviews = reviews(&script);
    let start = Instant::now();
    for (sent, milliseconds) in [(400, 0..=0), (500, 495..=510)] {
        while script.seen().len() < sent {
            reviews.review_token("secret").await.unwrap();
        }
        let waited = start.elapsed().as_millis();
        assert!(milliseconds.contains(&waited), "{sent} reviews took {waited} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_api_server_delays_a_request_by_ten_seconds_at_most() {
    let options = AuthenticationOptions { skip_lookup: true, ..AuthenticationOptions::default() };
    let hangs = |path| reviews(&Script::new([Step::new(Method::POST, path, Answer::never())]));
    let authenticator = Authenticator::load(options, Some(hangs(TOKENS))).await.unwrap();
    let authorizer = Authorizer::new(AuthorizationOptions::default(), Some(hangs(ACCESSES))).unwrap();
    let headers = [(http::header::AUTHORIZATION, "Bearer x".parse().unwrap())].into_iter().collect();
    let start = Instant::now();
    let rejected = authenticator.authenticate(&Peer::new(HERE, Vec::new()), &headers).await.unwrap_err();
    assert_eq!(rejected.retry_status().unwrap(), 503);
    assert_eq!(
        (start.elapsed(), rejected.to_string()),
        (Duration::from_secs(10), "[no review within 10 s]".into())
    );
    let start = Instant::now();
    let undecided = authorizer.authorize(HERE, &ann(), "get", "/metrics").await.unwrap_err();
    assert!(matches!(undecided, ReviewError::Timeout) && start.elapsed() == Duration::from_secs(10));
}

/// A hundred addresses request ten paths each at once: at most 48 reviews run, each address has a place in the queue, and three
/// quarters of the requests are refused.
#[tokio::test(start_paused = true)]
async fn a_flood_of_requests_causes_a_bounded_number_of_reviews() {
    let script = Script::new((0..1000).map(|_| Step::new(Method::POST, ACCESSES, Answer::never())));
    let authorizer = Authorizer::new(AuthorizationOptions::default(), Some(reviews(&script))).unwrap();
    let paths: Vec<String> = (0..1000).map(|i| format!("/{i}")).collect();
    let user = User::anonymous();
    let from = |index: usize| IpAddr::from([10, 0, 0, u8::try_from(index % 100).unwrap()]);
    let asks =
        paths.iter().enumerate().map(|(index, path)| authorizer.authorize(from(index), &user, "get", path));
    let sent = async {
        tokio::time::sleep(Duration::from_secs(9)).await;
        script.seen().len()
    };
    let (decisions, sent) = tokio::join!(futures::future::join_all(asks), sent);
    assert_eq!(sent, 48);
    let count = |is: fn(&ReviewError) -> bool| {
        decisions.iter().filter_map(|decision| decision.as_ref().err()).filter(|error| is(error)).count()
    };
    let (late, busy) = (
        count(|error| matches!(error, ReviewError::Timeout)),
        count(|error| matches!(error, ReviewError::Busy)),
    );
    assert!(late + busy == 1000 && (200..=512).contains(&late), "{late} timed out, {busy} refused");
}
