//! Single requests: what is sent, what is returned, and the time limits.
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::error_chain;
use kube_api::{ApiClient, ApiError, Encoding, Preconditions, RateLimiter, Status, connect};
use kube_protobuf::{Message, Unknown, wrap};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use scripted_api::loopback::{Loopback, reserve};
use scripted_api::script::{Answer, Script, Seen, Step};
use scripted_api::wire::{Refusal, Wire};

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-1";
const LONG: Duration = Duration::from_secs(24 * 3600);

fn slice() -> EndpointSlice {
    let metadata = ObjectMeta {
        name: Some("web-1".to_owned()),
        namespace: Some("shop".to_owned()),
        uid: Some("b51cd2d6-9b3d-4f5a-9f0a-1f1f3a4b5c6d".to_owned()),
        resource_version: Some("41".to_owned()),
        generation: Some(2),
        ..ObjectMeta::default()
    };
    // The API server always writes conditions, empty ones included.
    let conditions = Some(EndpointConditions::default());
    let endpoint = Endpoint { addresses: vec!["10.0.0.1".to_owned()], conditions, ..Endpoint::default() };
    EndpointSlice { address_type: "IPv4".to_owned(), endpoints: Some(vec![endpoint]), metadata, ports: None }
}

fn answer(wire: Wire, code: u16, slice: &EndpointSlice) -> Answer {
    Answer::new(code, wire.content_type(), encode(wire, slice))
}

fn encode(wire: Wire, slice: &EndpointSlice) -> Vec<u8> {
    match wire.0 {
        Encoding::Protobuf => wrap("discovery.k8s.io/v1", "EndpointSlice", &slice.encode()),
        Encoding::Json => serde_json::to_vec(slice).unwrap(),
    }
}

fn decode(wire: Wire, body: &[u8]) -> EndpointSlice {
    match wire.0 {
        Encoding::Protobuf => {
            let envelope = Unknown::parse(body).unwrap();
            assert_eq!((envelope.api_version, envelope.kind), ("discovery.k8s.io/v1", "EndpointSlice"));
            EndpointSlice::decode(envelope.raw).unwrap()
        }
        Encoding::Json => serde_json::from_slice(body).unwrap(),
    }
}

fn client(wire: Wire, script: &Arc<Script>) -> ApiClient {
    ApiClient::new(script.client(), wire.0, "test/1.0")
}

/// Makes one update that gets these answers.
async fn update(wire: Wire, answers: Vec<Answer>) -> (Result<EndpointSlice, ApiError>, Arc<Script>) {
    let script = Script::new(answers.into_iter().map(|answer| Step::new(Method::PUT, SLICE, answer)));
    let outcome = client(wire, &script).update(SLICE, &slice()).await;
    script.played(LONG).await;
    (outcome, script)
}

async fn refusal(wire: Wire, answer: Answer) -> ApiError {
    update(wire, vec![answer]).await.0.unwrap_err()
}

fn status(error: ApiError) -> Status {
    match error {
        ApiError::Refused(status) => *status,
        other => panic!("not a refusal: {other:?}"),
    }
}

fn check_headers(wire: Wire, seen: &Seen) {
    let accept = match wire.0 {
        Encoding::Protobuf => "application/vnd.kubernetes.protobuf,application/json",
        Encoding::Json => "application/json",
    };
    assert_eq!(seen.headers["accept"], accept);
    assert_eq!(seen.headers["content-type"], wire.content_type());
    assert_eq!(seen.headers["user-agent"], "test/1.0");
}

#[tokio::test(start_paused = true)]
async fn a_create_and_an_update_carry_the_whole_object_and_return_the_server_s() {
    for wire in Wire::BOTH {
        let mut returned = slice();
        returned.metadata.resource_version = Some("42".to_owned());
        let script = Script::new([
            Step::new(Method::POST, SLICES, answer(wire, 201, &returned)),
            Step::new(Method::PUT, SLICE, answer(wire, 200, &returned)),
        ]);
        let client = client(wire, &script);
        assert_eq!(client.encoding(), wire.0);
        assert_eq!(client.create(SLICES, &slice()).await.unwrap(), returned);
        assert_eq!(client.update(SLICE, &slice()).await.unwrap(), returned);
        script.played(LONG).await;
        for seen in script.seen() {
            check_headers(wire, &seen);
            assert_eq!(seen.query, [""; 0]);
            assert_eq!(decode(wire, &seen.body), slice(), "{wire:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_delete_carries_its_preconditions() {
    let both = Preconditions { uid: Some("u".to_owned()), resource_version: Some("7".to_owned()) };
    let uid_only = Preconditions { resource_version: None, ..both.clone() };
    for (preconditions, protobuf, expected) in [
        (both, &b"\x12\x06\x0a\x01u\x12\x017"[..], json!({"uid": "u", "resourceVersion": "7"})),
        (uid_only, b"\x12\x03\x0a\x01u", json!({"uid": "u"})),
        (Preconditions::default(), b"", json!({})),
    ] {
        for wire in Wire::BOTH {
            let gone = Answer::new(200, "application/json", r#"{"kind":"Status","status":"Success"}"#);
            let script = Script::new([Step::new(Method::DELETE, SLICE, gone)]);
            client(wire, &script).delete(SLICE, &preconditions).await.unwrap();
            script.played(LONG).await;
            let seen = &script.seen()[0];
            check_headers(wire, seen);
            if wire.0 == Encoding::Protobuf {
                let envelope = Unknown::parse(&seen.body).unwrap();
                let expected = Unknown { api_version: "v1", kind: "DeleteOptions", raw: protobuf };
                assert_eq!(envelope, expected);
            } else {
                let options: Value = serde_json::from_slice(&seen.body).unwrap();
                assert_eq!(
                    (&options["apiVersion"], &options["kind"]),
                    (&json!("v1"), &json!("DeleteOptions"))
                );
                assert_eq!(options["preconditions"], expected);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_patch_is_json_whatever_the_encoding() {
    for wire in Wire::BOTH {
        let script = Script::new([Step::new(Method::PATCH, SLICE, answer(wire, 200, &slice()))]);
        let patch = json!({"metadata": {"labels": {"app": null}}});
        let patched: EndpointSlice = client(wire, &script).patch(SLICE, &patch).await.unwrap();
        assert_eq!(patched, slice());
        let seen = &script.seen()[0];
        assert_eq!(seen.headers["content-type"], "application/strategic-merge-patch+json");
        assert_eq!(serde_json::from_slice::<Value>(&seen.body).unwrap(), patch);
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_has_no_body_and_returns_the_bytes() {
    let answer = Answer::new(200, "application/json", "{\"major\":").then("\"1\"}");
    let script = Script::new([Step::new(Method::GET, "/version", answer)]);
    let body = client(Wire::BOTH[0], &script).get_raw("/version").await.unwrap();
    assert_eq!(&body[..], b"{\"major\":\"1\"}");
    let seen = &script.seen()[0];
    assert!(seen.body.is_empty() && !seen.headers.contains_key("content-type"));
}

#[tokio::test(start_paused = true)]
async fn the_answer_may_be_in_the_other_encoding() {
    for (asked, answered) in [(Wire::BOTH[0], Wire::BOTH[1]), (Wire::BOTH[1], Wire::BOTH[0])] {
        assert_eq!(update(asked, vec![answer(answered, 200, &slice())]).await.0.unwrap(), slice());
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_are_told_apart() {
    type Test = fn(&ApiError) -> bool;
    let tests: [(&str, Test); 6] = [
        ("not found", ApiError::is_not_found),
        ("conflict", ApiError::is_conflict),
        ("already exists", ApiError::is_already_exists),
        ("expired", ApiError::is_expired),
        ("invalid", ApiError::is_invalid),
        ("namespace terminating", ApiError::is_namespace_terminating),
    ];
    let refusal_of = |code, reason, cause| Refusal { code, reason, message: "m", cause, retry_after: 0 };
    for (sent, expected) in [
        (refusal_of(404, "NotFound", None), "not found"),
        (refusal_of(409, "Conflict", None), "conflict"),
        (refusal_of(409, "AlreadyExists", None), "already exists"),
        (refusal_of(410, "Expired", None), "expired"),
        (refusal_of(410, "Gone", None), "expired"),
        (refusal_of(400, "BadRequest", None), "invalid"),
        (refusal_of(422, "Invalid", Some("FieldValueInvalid")), "invalid"),
        (refusal_of(403, "Forbidden", Some("NamespaceTerminating")), "namespace terminating"),
        (refusal_of(403, "Forbidden", None), ""),
        (refusal_of(500, "InternalError", None), ""),
    ] {
        for wire in Wire::BOTH {
            let error = refusal(wire, wire.refusal(&sent)).await;
            let holds: Vec<&str> =
                tests.iter().filter(|(_, test)| test(&error)).map(|(name, _)| *name).collect();
            assert_eq!(holds.concat(), expected, "{sent:?} in {wire:?}");
            let expected = Status {
                code: sent.code,
                reason: sent.reason.to_owned(),
                message: "m".to_owned(),
                causes: sent.cause.iter().map(ToString::to_string).collect(),
                retry_after: None,
            };
            assert_eq!(error_chain(&error), "m");
            assert_eq!(status(error), expected, "{wire:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_is_no_status_is_quoted_in_short() {
    let html = format!("<html>\r\n<b>{}\u{7}</b>", "x".repeat(10_000));
    for (code, content_type, body, expected) in [
        (502, "text/html", "", "Bad Gateway"),
        (502, "", "\n upstream is gone \n", "Bad Gateway: upstream is gone"),
        (404, "text/plain", "404 page not found\n", "Not Found: 404 page not found"),
        (401, "application/json", "{\"error\":\"no\"}", "Unauthorized: {\"error\":\"no\"}"),
        (403, "application/json", "[]", "Forbidden: []"),
        (500, "application/vnd.kubernetes.protobuf", "k8s\u{0}\u{12}\u{7f}", "Internal Server Error: k8s"),
        (599, "text/plain", "", "unknown status"),
    ] {
        let error = status(refusal(Wire::BOTH[0], Answer::new(code, content_type, body.to_owned())).await);
        assert_eq!((error.code, &error.message[..error.message.len().min(expected.len())]), (code, expected));
    }
    let error = status(refusal(Wire::BOTH[0], Answer::new(500, "text/html", html)).await);
    assert!(error.message.len() < 300 && !error.message.contains(char::is_control), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_a_refusal() {
    let moved = Answer::new(302, "text/html", "elsewhere").header("location", "http://example.com/");
    let error = status(refusal(Wire::BOTH[0], moved).await);
    assert_eq!((error.code, &*error.message), (302, "Found: elsewhere"));
}

#[tokio::test(start_paused = true)]
async fn a_malformed_answer_is_an_error() {
    for (content_type, body) in [
        ("application/vnd.kubernetes.protobuf", "k8s\u{0}\u{12}\u{7f}"),
        ("application/vnd.kubernetes.protobuf", "{}"),
        ("application/json", "<html>"),
        ("text/html", "<html>"),
        ("", ""),
    ] {
        for wire in Wire::BOTH {
            let error = refusal(wire, Answer::new(200, content_type, body)).await;
            assert!(matches!(error, ApiError::Malformed(_)), "{error:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn overload_is_waited_for_ten_times() {
    for wire in Wire::BOTH {
        for code in [429, 500, 503, 504] {
            let busy = || Answer::new(code, "text/plain", "busy").header("retry-after", "3");
            let patient = std::iter::repeat_with(busy).take(10).chain([answer(wire, 200, &slice())]);
            let (outcome, script) = update(wire, patient.collect()).await;
            assert_eq!(outcome.unwrap(), slice());
            assert!(script.gaps().iter().all(|gap| (3.0..3.1).contains(gap)), "{:?}", script.gaps());
            let first = script.seen()[0].body.clone();
            assert!(script.seen().iter().all(|seen| seen.body == first), "the same body each time");

            let (outcome, _) = update(wire, std::iter::repeat_with(busy).take(11).collect()).await;
            let status = status(outcome.unwrap_err());
            assert_eq!((status.code, status.retry_after), (code, Some(Duration::from_secs(3))));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_else_is_repeated() {
    let refused =
        |code, retry_after| Answer::new(code, "text/plain", "no").header("retry-after", retry_after);
    for answer in [
        // without Retry-After
        Answer::new(429, "", ""),
        Answer::new(500, "", ""),
        Answer::new(503, "", ""),
        // not a number of seconds
        refused(429, "soon"),
        refused(503, "Fri, 31 Dec 1999 23:59:59 GMT"),
        refused(503, "-1"),
        // too long
        refused(429, "11"),
        refused(429, "18446744073709551615"),
        // not retriable
        refused(409, "1"),
        refused(404, "1"),
        refused(302, "1"),
    ] {
        let start = Instant::now();
        status(refusal(Wire::BOTH[0], answer).await);
        assert!(start.elapsed() < Duration::from_millis(10));
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_status_asks_for_is_reported() {
    for wire in Wire::BOTH {
        let busy =
            Refusal { code: 429, reason: "TooManyRequests", message: "m", cause: None, retry_after: 120 };
        let error = status(refusal(wire, wire.refusal(&busy)).await);
        assert_eq!(error.retry_after, Some(Duration::from_secs(120)), "{wire:?}");
    }
}

/// The API server gives up after 60 s, and until then it may still do a write: a webhook that is dead and may be
/// ignored costs half of that.
#[tokio::test(start_paused = true)]
async fn a_write_may_take_as_long_as_the_api_server_and_a_read_30_s() {
    for wire in Wire::BOTH {
        let endless = || Answer::new(200, wire.content_type(), "k8s").hang();
        let endless_refusal = || Answer::new(500, wire.content_type(), "k8s").hang();
        let answers: [&dyn Fn() -> Answer; 3] = [&Answer::never, &endless, &endless_refusal];
        for answer in answers {
            let start = Instant::now();
            let error = refusal(wire, answer()).await;
            assert!(matches!(error, ApiError::Timeout(_)), "{error:?}");
            assert_eq!(error.to_string(), "no response from the API server within 68 s");
            assert_eq!(start.elapsed().as_secs(), 68);

            let start = Instant::now();
            let script = Script::new([Step::new(Method::GET, "/version", answer())]);
            let error = client(wire, &script).get_raw("/version").await.unwrap_err();
            assert_eq!(error.to_string(), "no response from the API server within 30 s");
            assert_eq!(start.elapsed().as_secs(), 30);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn at_shutdown_a_write_may_take_30_s_from_its_beginning() {
    let wire = Wire::BOTH[0];
    for (shut_down_after, given_up_after) in [(0, 30), (10, 30), (50, 50), (80, 68)] {
        let script = Script::new([Step::new(Method::PUT, SLICE, Answer::never())]);
        let stopping = watch::Sender::new(false);
        let client = client(wire, &script).with_shutdown(stopping.subscribe());
        let start = Instant::now();
        let shutdown = async {
            sleep(Duration::from_secs(shut_down_after)).await;
            stopping.send_replace(true);
        };
        let write = async {
            let error = client.update(SLICE, &slice()).await.unwrap_err();
            assert!(matches!(error, ApiError::Timeout(_)), "{error:?}");
            start.elapsed().as_secs()
        };
        let (waited, ()) = tokio::join!(write, shutdown);
        assert_eq!(waited, given_up_after, "shut down after {shut_down_after} s");
    }
    // The sender is gone: as without shutdown.
    let script = Script::new([Step::new(Method::PUT, SLICE, Answer::never())]);
    let client = client(wire, &script).with_shutdown(watch::channel(false).1);
    let start = Instant::now();
    client.update(SLICE, &slice()).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 68);
}

/// The lookups of a takeover take less time than the writes after them.
#[tokio::test(start_paused = true)]
async fn reads_do_not_make_writes_look_slow() {
    let wire = Wire::BOTH[0];
    let stored = || answer(wire, 200, &slice());
    let read = || Step::new(Method::GET, SLICE, stored());
    let write = || Step::new(Method::PUT, SLICE, stored().pause(Duration::from_millis(30)));
    let reads = std::iter::repeat_with(read).take(20);
    let script = Script::new(reads.chain(std::iter::repeat_with(write).take(60)));
    let limiter = Arc::new(RateLimiter::adaptive(20.0, 300.0, 1));
    let client = client(wire, &script).with_limit(Arc::clone(&limiter));
    for _ in 0..20 {
        client.get::<EndpointSlice>(SLICE).await.unwrap();
    }
    for _ in 0..60 {
        client.update(SLICE, &slice()).await.unwrap();
    }
    assert!(limiter.qps() > 30.0, "{}", limiter.qps());
}

/// The Lease is released once the last write has ended.
#[tokio::test(start_paused = true)]
async fn at_shutdown_a_refused_write_is_not_sent_again() {
    for (shut_down_after, tries) in [(0, 1), (4, 2)] {
        let busy = || Answer::new(429, "text/plain", "busy").header("retry-after", "3");
        let steps = std::iter::repeat_with(|| Step::new(Method::PUT, SLICE, busy()));
        let script = Script::new(steps.take(tries));
        let stopping = watch::Sender::new(false);
        let client = client(Wire::BOTH[0], &script).with_shutdown(stopping.subscribe());
        let (slice, start) = (slice(), Instant::now());
        let shutdown = async {
            sleep(Duration::from_secs(shut_down_after)).await;
            stopping.send_replace(true);
        };
        let (outcome, ()) = tokio::join!(client.update(SLICE, &slice), shutdown);
        assert_eq!(status(outcome.unwrap_err()).code, 429);
        assert_eq!((start.elapsed().as_secs(), script.seen().len()), (shut_down_after, tries));
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_an_error() {
    for wire in Wire::BOTH {
        let error = refusal(wire, Answer::new(200, wire.content_type(), "k8s").cut()).await;
        assert!(matches!(error, ApiError::Transport(_)), "{error:?}");
        assert!(error_chain(&error).starts_with("cannot reach the API server: "), "{}", error_chain(&error));
    }
}

#[tokio::test(start_paused = true)]
async fn a_huge_answer_is_not_read_to_its_end() {
    let megabyte = vec![b'x'; 1 << 20];
    let huge =
        |code| (0..65).fold(Answer::new(code, "", ""), |answer, _| answer.then(megabyte.clone())).hang();
    for code in [200, 500] {
        // The end of the response is never reached, nor is that of the script.
        let script = Script::new([Step::new(Method::PUT, SLICE, huge(code))]);
        let error = client(Wire::BOTH[0], &script).update(SLICE, &slice()).await.unwrap_err();
        assert!(matches!(error, ApiError::Malformed(_)), "the server was reached: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn clones_share_one_rate_limit_and_retries_count() {
    let wire = Wire::BOTH[0];
    let busy = Answer::new(429, "", "").header("retry-after", "0");
    let answers =
        [answer(wire, 200, &slice()), busy, answer(wire, 200, &slice()), answer(wire, 200, &slice())];
    let script = Script::new(answers.map(|answer| Step::new(Method::PUT, SLICE, answer)));
    let client = client(wire, &script).with_limit(RateLimiter::new(0.5, 1));
    for client in [client.clone(), client.clone(), client] {
        client.update(SLICE, &slice()).await.unwrap();
    }
    assert!(script.gaps().iter().all(|gap| (2.0..2.1).contains(gap)), "{:?}", script.gaps());
}

#[tokio::test(start_paused = true)]
async fn invalid_characters_of_a_user_agent_are_dropped() {
    for (given, sent) in [("a b/1.0 (x)", "a b/1.0 (x)"), ("a\r\nevil: 1", "aevil: 1"), ("\u{e9}", "")] {
        let script = Script::new([Step::new(Method::GET, "/version", Answer::new(200, "", "{}"))]);
        ApiClient::new(script.client(), Encoding::Json, given).get_raw("/version").await.unwrap();
        assert_eq!(script.seen()[0].headers["user-agent"], sent);
    }
}

#[tokio::test]
async fn the_address_and_the_token_come_from_the_configuration() {
    for wire in Wire::BOTH {
        let path = "/k8s/clusters/c-1/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-1";
        let script = Script::new([Step::new(Method::PUT, path, answer(wire, 200, &slice()))]);
        let server = Loopback::start(&script);
        let url = format!("http://{}/k8s/clusters/c-1/", server.address);
        let mut config = kube::Config::new(url.parse().unwrap());
        config.auth_info.token = Some("secret".to_owned().into());
        let client = ApiClient::new(connect(&config).unwrap(), wire.0, "test/1.0");
        assert_eq!(client.update(SLICE, &slice()).await.unwrap(), slice());
        let seen = &script.seen()[0];
        check_headers(wire, seen);
        assert_eq!(seen.headers["authorization"], "Bearer secret");
        assert_eq!(decode(wire, &seen.body), slice());
    }
}

#[tokio::test]
async fn an_unreachable_server_is_named_as_the_cause() {
    let [unused, _] = reserve();
    let config = Loopback::config(unused.local_addr().unwrap());
    let client = ApiClient::new(connect(&config).unwrap(), Encoding::Protobuf, "test/1.0");
    let error = error_chain(&client.get_raw("/version").await.unwrap_err());
    assert!(error.starts_with("cannot reach the API server: "), "{error}");
    assert!(error.to_lowercase().contains("connection refused"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_only_reads_sends_no_write() {
    let script = Script::new([Step::new(Method::GET, SLICE, answer(Wire(Encoding::Json), 200, &slice()))]);
    let client = client(Wire(Encoding::Json), &script).read_only();
    let refused = [
        client.create(SLICES, &slice()).await.map(drop),
        client.update_for_metadata(SLICE, &slice()).await.map(drop),
        client.patch::<EndpointSlice>(SLICE, &json!({})).await.map(drop),
        client.delete(SLICE, &Preconditions::default()).await,
        client.create_json(SLICES, &json!({})).await.map(drop),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(matches!(error, ApiError::ReadOnly) && !error.is_unavailable(), "{error}");
    }
    client.get::<EndpointSlice>(SLICE).await.unwrap();
    script.played(LONG).await;
}
