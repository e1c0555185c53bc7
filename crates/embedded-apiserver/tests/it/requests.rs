//! Refusals of wrong requests, in the words of kube-apiserver.

use embedded_apiserver::ApiServer;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{PODS, exchange, send};

/// Request and the expected code and message, recorded from kube-apiserver 1.36.3.
const REFUSED: &[(&str, &str, &str, u16, &str)] = &[
    ("GET", "/api/v1/nope", "", 404, "the server could not find the requested resource"),
    ("GET", "/api/v2/pods", "", 404, "the server could not find the requested resource"),
    ("GET", "/apis/apps/v9/deployments", "", 404, "the server could not find the requested resource"),
    ("GET", "/api/v1/namespaces/default/nodes", "", 404, "the server could not find the requested resource"),
    (
        "GET",
        "/api/v1/namespaces/default/pods/x/y/z",
        "",
        404,
        "the server could not find the requested resource",
    ),
    ("GET", "/api/v1/pods/x", "", 404, "the server could not find the requested resource"),
    ("POST", "/api/v1/pods", "{}", 405, "the server does not allow this method on the requested resource"),
    (
        "DELETE",
        "/api/v1/namespaces",
        "",
        405,
        "the server does not allow this method on the requested resource",
    ),
    ("HEAD", "/api/v1/pods", "", 405, ""),
    ("GET", "/api/v1/namespaces/default/pods/x", "", 404, "pods \"x\" not found"),
    (
        "GET",
        "/api/v1/namespaces/default/pods/%25",
        "",
        400,
        "Name parameter invalid: \"%\": may not contain '%'",
    ),
    ("GET", "/api/v1/namespaces/default/pods/..", "", 400, "Name parameter invalid: \"..\": may not be '..'"),
    ("GET", "/api/v1/pods?limit=x", "", 400, "strconv.ParseInt: parsing \"x\": invalid syntax"),
    (
        "POST",
        "/api/v1/namespaces/default/pods",
        "{\"kind\":\"Po",
        400,
        "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: \
         unexpected end of JSON input ({\"kind\":\"Po)",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/pods",
        "{\"kind\":\"Service\",\"apiVersion\":\"v1\"}",
        400,
        "Service in version \"v1\" cannot be handled as a Pod: converting (v1.Service) to (core.Pod): unknown conversion",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/pods",
        "{\"kind\":\"Pod\",\"apiVersion\":\"v2\"}",
        400,
        "Pod in version \"v2\" cannot be handled as a Pod: no kind \"Pod\" is registered for version \"v2\" in scheme \
         \"pkg/runtime/scheme.go:111\"",
    ),
    (
        "PUT",
        "/api/v1/namespaces/default/pods/a",
        "{\"metadata\":{\"name\":\"b\"}}",
        400,
        "the name of the object (b) does not match the name on the URL (a)",
    ),
    (
        "PUT",
        "/api/v1/namespaces/default/pods/a",
        "{}",
        400,
        "the name of the object (a based on URL) was undeterminable: name must be provided",
    ),
    (
        "DELETE",
        "/api/v1/namespaces/default/pods/x?propagationPolicy=Orphan&orphanDependents=true",
        "",
        422,
        "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \"Orphan\": orphanDependents and \
         deletionPropagation cannot be both set",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/pods?dryRun=x&fieldManager=a%01&fieldValidation=q",
        "{}",
        422,
        "CreateOptions.meta.k8s.io \"\" is invalid: [fieldManager: Invalid value: \"a\\x01\": invalid character U+0001 \
         (at position 1), dryRun: Unsupported value: [\"x\"]: supported values: \"All\", fieldValidation: Unsupported \
         value: \"q\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"]",
    ),
    (
        "POST",
        "/api/v1/namespaces/nope/pods",
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"a\"}]}}",
        404,
        "namespaces \"nope\" not found",
    ),
    (
        "DELETE",
        "/api/v1/namespaces/default",
        "",
        403,
        "namespaces \"default\" is forbidden: this namespace may not be deleted",
    ),
];

#[tokio::test]
async fn refusals_have_the_words_of_the_real_server() {
    let server = ApiServer::new();
    for (method, path, body, code, message) in REFUSED {
        let (got, headers, text) =
            exchange(&server, method, path, &[("content-type", "application/json")], *body).await;
        assert_eq!(got, *code, "{method} {path}");
        assert_eq!(headers["cache-control"], "no-cache, private");
        let status: Value = serde_json::from_slice(&text).unwrap();
        if !message.is_empty() {
            assert_eq!(status["message"], *message, "{method} {path}");
        }
        assert_eq!(status["code"], *code);
        assert_eq!(status["status"], "Failure");
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

#[tokio::test]
async fn encodings_are_negotiated() {
    let server = ApiServer::new();
    let cases = [
        ("", 200, "application/json"),
        ("application/yaml", 406, "application/json"),
        (
            "application/vnd.kubernetes.protobuf, application/json;q=0.5",
            200,
            "application/vnd.kubernetes.protobuf",
        ),
        ("application/json;as=Table;v=v1;g=meta.k8s.io, application/json", 200, "application/json"),
        ("text/html", 406, "application/json"),
        ("text/html, */*", 200, "application/json"),
        ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", 406, "application/json"),
    ];
    for (accept, code, content_type) in cases {
        let (got, headers, _) = exchange(&server, "GET", PODS, &[("accept", accept)], "").await;
        assert_eq!((got, headers["content-type"].to_str().unwrap()), (code, content_type), "{accept}");
    }
    let (code, _, body) = exchange(&server, "POST", PODS, &[("content-type", "text/plain")], "{}").await;
    assert_eq!(code, 415);
    assert!(
        String::from_utf8_lossy(&body)
            .contains("accepted media types include: application/json, application/yaml")
    );
    let (code, body) = {
        let (code, _, body) = exchange(&server, "PATCH", &format!("{PODS}/x"), &[], "{}").await;
        (code, serde_json::from_slice::<Value>(&body).unwrap())
    };
    assert_eq!((code, &body["message"]), (415, &json!("415: Unsupported Media Type")));
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
