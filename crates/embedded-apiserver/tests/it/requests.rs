//! Refusals of wrong requests, in the words of kube-apiserver.

use embedded_apiserver::ApiServer;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{PODS, exchange, send};

/// Requests one after the other with the code and the message of kube-apiserver, one a line. Of a message with a uid, what is before
/// it. The test `conformance::recorded_refusals_are_those_of_the_real_server` of package `tests` records them.
const REFUSALS: &str = include_str!("refusals.jsonl");

#[tokio::test]
async fn refusals_have_the_words_of_the_real_server() {
    let server = ApiServer::new();
    for line in REFUSALS.lines() {
        let request: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| request[key].as_str().unwrap_or_default();
        let media =
            if text("method") == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let headers = [("content-type", media)];
        let body = text("body").to_owned();
        let (code, headers, answer) = exchange(&server, text("method"), text("path"), &headers, body).await;
        assert_eq!(code, request["code"], "{line}");
        assert_eq!(headers["cache-control"], "no-cache, private");
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(message.starts_with(text("message")), "{line}\n{answer}");
        if code >= 400 {
            assert_eq!((&answer["code"], &answer["status"]), (&request["code"], &json!("Failure")), "{line}");
        }
    }
}

#[tokio::test]
async fn unknown_paths_outside_of_the_api_get_a_text() {
    let server = ApiServer::new();
    for path in ["/nope", "/apis/nope/v1/pods", "//api/v1/pods"] {
        let (code, headers, text) = exchange(&server, "GET", path, &[], "").await;
        assert_eq!((code, &*text), (404, &b"404 page not found\n"[..]), "{path}");
        assert_eq!(headers["content-type"], "text/plain; charset=utf-8");
    }
}

/// Those that the real server has and this one lacks. `conformance` compares the negotiation of the others.
#[tokio::test]
async fn other_encodings_are_refused() {
    let server = ApiServer::new();
    for accept in ["application/yaml", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"] {
        let (code, headers, _) = exchange(&server, "GET", PODS, &[("accept", accept)], "").await;
        assert_eq!((code, &headers["content-type"]), (406, &"application/json".parse().unwrap()), "{accept}");
    }
    let (code, _, body) =
        exchange(&server, "POST", PODS, &[("content-type", "application/yaml")], "{}").await;
    assert_eq!(code, 415);
    assert!(String::from_utf8_lossy(&body).contains("accepted media types include: application/json"));
}

#[tokio::test]
async fn who_asks_for_aggregated_discovery_gets_groups() {
    const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let server = ApiServer::new();
    // As kubectl and client-go, which read the answer by its content type.
    let accept = format!("{AGGREGATED},application/json");
    for (path, kind) in [("/api", "APIVersions"), ("/apis", "APIGroupList")] {
        let (code, headers, body) = exchange(&server, "GET", path, &[("accept", accept.as_str())], "").await;
        let list: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((code, &list["kind"]), (200, &json!(kind)));
        assert_eq!(headers["content-type"], "application/json");
        let (code, _, _) = exchange(&server, "GET", path, &[("accept", AGGREGATED)], "").await;
        assert_eq!(code, 406, "{path}");
    }
}

#[tokio::test]
async fn a_body_of_another_kind_is_refused_like_one_of_an_unknown_kind() {
    let server = ApiServer::new();
    for (api_version, version, kind) in [
        ("v1", "v1", "Service"),
        ("v1", "v1", "ConfigMap"),
        ("apps/v1", "v1", "Deployment"),
        ("v2", "v2", "Pod"),
        ("v1", "v1", "Unknown"),
    ] {
        let body = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "a" } });
        let (code, answer) = send(&server, "POST", PODS, body).await;
        let message = format!(
            "{kind} in version \"{version}\" cannot be handled as a Pod: no kind \"{kind}\" is registered for version \
             \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
        );
        assert_eq!((code, &answer["message"]), (400, &json!(message)));
    }
}

#[tokio::test]
async fn bodies_are_limited() {
    let server = ApiServer::new();
    let (code, body) = send(&server, "POST", PODS, json!({ "x": "a".repeat(3 << 20) })).await;
    assert_eq!(code, 413);
    assert_eq!(body["message"], "Request entity too large: limit is 3145728");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_request_is_answered(
        method in prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "FOO"]),
        path in prop_oneof![
            "(/[a-z%0-9.]{0,6}){0,6}",
            "/api/v1/(namespaces/(default|x)/)?(pods|services|endpoints|events)(/[a-z]{1,3})?(/(status|binding|token))?",
            "/apis/[a-z.]{0,20}/v1/[a-z]{0,12}",
        ],
        query in "([a-zA-Z]{1,12}=[ -~&&[^# ]]{0,12}&){0,3}(watch=1&timeoutSeconds=1)?",
        accept in prop_oneof![Just(String::new()), "[ -~]{0,40}", Just("application/vnd.kubernetes.protobuf".to_owned())],
        content_type in prop::sample::select(vec![
            "", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
            "application/merge-patch+json", "application/json-patch+json",
            "application/strategic-merge-patch+json", "application/apply-patch+yaml", "x",
        ]),
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..64),
            prop::collection::vec(any::<u8>(), 0..64).prop_map(|tail| [&b"k8s\0"[..], &tail].concat()),
            "[{\\[][ -~]{0,64}".prop_map(String::into_bytes),
        ],
    ) {
        let Ok(uri) = format!("{path}?{query}").parse::<http::Uri>() else { return Ok(()) };
        let headers = [("accept", accept.as_str()), ("content-type", content_type)];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (code, headers, body) = runtime.block_on(async {
            exchange(&ApiServer::new(), method, &uri.to_string(), &headers, body).await
        });
        prop_assert!((200..=599).contains(&code));
        if code >= 400 && headers["content-type"] == "application/json" {
            let status: Value = serde_json::from_slice(&body).unwrap();
            prop_assert_eq!(&status["kind"], "Status");
            prop_assert_eq!(&status["code"], code);
        }
    }
}
