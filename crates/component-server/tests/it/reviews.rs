//! Reviews as requests to a scripted API server.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use component_server::{
    AccessReview, AccessReviewStatus, ApiReviews, AuthenticationApi, AuthenticationOptions, Authenticator,
    AuthorizationApi, AuthorizationOptions, Authorizer, Peer, ReviewError, User,
};
use http::{Request, Response};
use kube::client::Body;
use kube_api::{ApiClient, Encoding};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Responds to each request with the next status code and body, and repeats the last one. Code 0 never responds.
#[derive(Clone, Default)]
struct Script(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    replies: Vec<(u16, Value)>,
    /// Method, path, body.
    seen: Vec<(String, String, Value)>,
}

impl Script {
    fn new(replies: &[(u16, Value)]) -> Self {
        let mut replies = replies.to_vec();
        replies.reverse();
        Self(Arc::new(Mutex::new(State { replies, seen: Vec::new() })))
    }

    /// The client prefers protobuf, which shows that reviews are sent as JSON nevertheless.
    fn reviews(&self) -> ApiReviews {
        let script = self.clone();
        let service = tower::service_fn(move |request| script.clone().reply(request));
        ApiReviews::new(ApiClient::new(kube::Client::new(service, "default"), Encoding::Protobuf, "test/1.0"))
    }

    async fn reply(self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap();
        let (code, reply) = {
            let mut state = self.0.lock();
            let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
            if !body.is_empty() {
                assert_eq!(parts.headers["content-type"], "application/json");
            }
            state.seen.push((parts.method.to_string(), parts.uri.path().to_owned(), json));
            if state.replies.len() > 1 { state.replies.pop().unwrap() } else { state.replies[0].clone() }
        };
        if code == 0 {
            std::future::pending::<()>().await;
        }
        let response = Response::builder().status(code).header("content-type", "application/json");
        Ok(response.body(Body::from(reply.to_string().into_bytes())).unwrap())
    }

    fn requests(&self) -> usize {
        self.0.lock().seen.len()
    }
}

fn token_review(status: &Value) -> Value {
    json!({"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {"token": "x"}, "status": status})
}

fn access_review(status: &Value) -> Value {
    let (kind, version) = ("SubjectAccessReview", "authorization.k8s.io/v1");
    json!({"kind": kind, "apiVersion": version, "spec": {}, "status": status})
}

fn refusal(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": reason,
        "code": code});
    (code, status)
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
    let script = Script::new(&[
        (201, token_review(&json!({"authenticated": true, "user": user}))),
        (201, token_review(&json!({"authenticated": false}))),
        (201, token_review(&json!({"error": "expired"}))),
    ]);
    let reviews = script.reviews();
    assert_eq!(reviews.review_token("secret").await.unwrap(), Some(ann()));
    assert_eq!(reviews.review_token("secret").await.unwrap(), None);
    assert_eq!(reviews.review_token("secret").await.unwrap_err().to_string(), "expired");
    let (method, path, body) = script.0.lock().seen[0].clone();
    assert_eq!((method.as_str(), path.as_str()), ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"));
    let (kind, version) = ("TokenReview", "authentication.k8s.io/v1");
    assert_eq!(
        body,
        json!({"kind": kind, "apiVersion": version, "metadata": {}, "spec": {"token": "secret"}})
    );
}

#[tokio::test(start_paused = true)]
async fn an_access_review_returns_the_decision() {
    let script = Script::new(&[
        (201, access_review(&json!({"allowed": true, "reason": "rule"}))),
        (201, access_review(&json!({"allowed": false}))),
        (201, access_review(&json!({"allowed": true, "denied": true}))),
    ]);
    let reviews = script.reviews();
    let access = AccessReview { user: ann(), verb: "get".to_owned(), path: "/metrics".to_owned() };
    let allowed = AccessReviewStatus { allowed: true, reason: "rule".to_owned() };
    assert_eq!(reviews.review_access(&access).await.unwrap(), allowed);
    assert_eq!(reviews.review_access(&access).await.unwrap(), AccessReviewStatus::default());
    let contradiction = reviews.review_access(&access).await.unwrap_err();
    assert!(contradiction.to_string().contains("both allow and deny"), "{contradiction}");
    let (method, path, body) = script.0.lock().seen[0].clone();
    assert_eq!(
        (method.as_str(), path.as_str()),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews")
    );
    let spec = json!({"user": "ann", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["a", "b"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"}});
    assert_eq!(body["spec"], spec);
}

#[tokio::test(start_paused = true)]
async fn the_cluster_configuration_is_optional() {
    let config =
        json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}, "data": {"client-ca-file": "pem"}});
    let script = Script::new(&[(200, config), refusal(404, "NotFound"), refusal(403, "Forbidden")]);
    let reviews = script.reviews();
    assert_eq!(reviews.cluster_config().await.unwrap().unwrap()["client-ca-file"], "pem");
    assert_eq!(reviews.cluster_config().await.unwrap(), None);
    assert!(matches!(reviews.cluster_config().await, Err(ReviewError::Api(_))));
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    assert_eq!(script.0.lock().seen[0].1, path);
}

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried_and_others_are_not() {
    let yes = (201, access_review(&json!({"allowed": true})));
    let access = AccessReview { user: ann(), verb: "get".to_owned(), path: "/metrics".to_owned() };
    for transient in [refusal(500, "InternalError"), refusal(504, "Timeout"), refusal(429, "TooManyRequests")]
    {
        let script = Script::new(&[transient.clone(), transient, yes.clone()]);
        let start = Instant::now();
        assert!(script.reviews().review_access(&access).await.unwrap().allowed);
        let waited = start.elapsed().as_millis();
        // 500 ms and 750 ms, plus up to 20% of jitter.
        assert!((1250..=1502).contains(&waited) && script.requests() == 3, "{waited}");
    }
    let script = Script::new(&[refusal(500, "InternalError")]);
    assert!(script.reviews().review_access(&access).await.is_err());
    assert_eq!(script.requests(), 5);
    let script = Script::new(&[refusal(403, "Forbidden"), yes]);
    assert!(script.reviews().review_access(&access).await.is_err());
    assert_eq!(script.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn reviews_are_sent_at_200_a_second_after_a_burst_of_400() {
    let script = Script::new(&[(201, token_review(&json!({"authenticated": false})))]);
    let reviews = script.reviews();
    let start = Instant::now();
    for (sent, milliseconds) in [(400, 0..=0), (500, 495..=510)] {
        while script.requests() < sent {
            reviews.review_token("secret").await.unwrap();
        }
        let waited = start.elapsed().as_millis();
        assert!(milliseconds.contains(&waited), "{sent} reviews took {waited} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_api_server_delays_a_request_by_ten_seconds_at_most() {
    let options = AuthenticationOptions { skip_lookup: true, ..AuthenticationOptions::default() };
    let hangs = || Script::new(&[(0, Value::Null)]).reviews();
    let authenticator = Authenticator::load(options, Some(hangs())).await.unwrap();
    let authorizer = Authorizer::new(AuthorizationOptions::default(), Some(hangs())).unwrap();
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
    let script = Script::new(&[(0, Value::Null)]);
    let authorizer = Authorizer::new(AuthorizationOptions::default(), Some(script.reviews())).unwrap();
    let paths: Vec<String> = (0..1000).map(|i| format!("/{i}")).collect();
    let user = User::anonymous();
    let from = |index: usize| IpAddr::from([10, 0, 0, u8::try_from(index % 100).unwrap()]);
    let asks =
        paths.iter().enumerate().map(|(index, path)| authorizer.authorize(from(index), &user, "get", path));
    let reviews = async {
        tokio::time::sleep(Duration::from_secs(9)).await;
        script.requests()
    };
    let (decisions, reviews) = tokio::join!(futures::future::join_all(asks), reviews);
    assert_eq!(reviews, 48);
    let count = |is: fn(&ReviewError) -> bool| {
        decisions.iter().filter_map(|decision| decision.as_ref().err()).filter(|error| is(error)).count()
    };
    let (late, busy) = (
        count(|error| matches!(error, ReviewError::Timeout)),
        count(|error| matches!(error, ReviewError::Busy)),
    );
    assert!(late + busy == 1000 && (200..=512).contains(&late), "{late} timed out, {busy} refused");
}
