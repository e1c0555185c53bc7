//! Responses to failed requests, in the form and words of upstream.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, StatusCode, Uri};
use serde::Serialize;

use crate::go_text::{beginning, escape_html, escape_json, quote};
use crate::negotiate;

/// A `meta.v1.Status`; the order of the fields is that of Go's encoder.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiStatus<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Empty,
    status: &'static str,
    message: &'a str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Empty>,
    code: u16,
}

#[derive(Serialize)]
struct Empty {}

/// The part of a request that determines the format of its response.
pub(crate) struct RequestHead<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) uri: &'a Uri,
}

/// Returns a 401.
pub(crate) fn unauthorized(head: &RequestHead<'_>) -> Response {
    head.status_response(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized", None)
}

/// Returns a 403 (`responsewriters.Forbidden`) with user, verb and path, and the reason if there is one.
pub(crate) fn forbidden(
    head: &RequestHead<'_>,
    user: &str,
    verb: &str,
    path: &str,
    reason: &str,
) -> Response {
    let (verb, path) = (beginning(verb), quote(&beginning(path)));
    let message = format!("forbidden: User {} cannot {verb} path {path}", quote(user));
    let mut message = escape_html(&message);
    if !reason.is_empty() {
        message = format!("{message}: {reason}");
    }
    let response = head.status_response(StatusCode::FORBIDDEN, "Forbidden", &message, Some(Empty {}));
    ([(X_CONTENT_TYPE_OPTIONS, "nosniff")], response).into_response()
}

/// Returns a 406 of pages that have a structured form.
pub(crate) fn not_acceptable(head: &RequestHead<'_>) -> Response {
    let message =
        "only the following media types are accepted: application/json, application/yaml, text/plain";
    head.status_response(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message, None)
}

/// Returns a 500 because a review failed (`responsewriters.InternalError`).
pub(crate) fn internal_error(uri: &Uri, error: &str) -> Response {
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    let text = format!("Internal Server Error: {}: {error}", quote(&beginning(target)));
    plain(StatusCode::INTERNAL_SERVER_ERROR, escape_html(&text))
}

/// Returns a 429 or 503 with `Retry-After` (`server/filters/maxinflight.go` `tooManyRequests`).
pub(crate) fn too_many_requests(code: StatusCode) -> Response {
    let text = "Too many requests, please try again later.".to_owned();
    ([(RETRY_AFTER, "1")], plain(code, text)).into_response()
}

/// Returns a plain-text response, as Go's `http.Error` writes it.
pub(crate) fn plain(code: StatusCode, text: String) -> Response {
    not_sniffed(code, "text/plain; charset=utf-8", text + "\n")
}

/// Returns a response whose media type clients must believe.
pub(crate) fn not_sniffed(code: StatusCode, content_type: &'static str, text: String) -> Response {
    (code, [(CONTENT_TYPE, content_type), (X_CONTENT_TYPE_OPTIONS, "nosniff")], text).into_response()
}

/// Returns the 404 of an unknown path.
pub(crate) fn not_found() -> Response {
    plain(StatusCode::NOT_FOUND, "404 page not found".to_owned())
}

enum Format {
    Json,
    PrettyJson,
    Yaml,
}

impl RequestHead<'_> {
    fn status_response(
        &self,
        code: StatusCode,
        reason: &'static str,
        message: &str,
        details: Option<Empty>,
    ) -> Response {
        let status = ApiStatus {
            kind: "Status",
            api_version: "v1",
            metadata: Empty {},
            status: "Failure",
            message,
            reason,
            details,
            code: code.as_u16(),
        };
        let (content_type, body) = match self.format() {
            Format::Json => (
                "application/json",
                serde_json::to_string(&status).map(|json| escape_json(&json) + "\n").ok(),
            ),
            Format::PrettyJson => (
                "application/json",
                serde_json::to_string_pretty(&status).map(|json| escape_json(&json)).ok(),
            ),
            Format::Yaml => (
                "application/yaml",
                serde_json::to_value(&status).ok().and_then(|status| serde_yaml::to_string(&status).ok()),
            ),
        };
        (code, [(CONTENT_TYPE, content_type)], body.unwrap_or_default()).into_response()
    }

    /// Returns the preferred format of the client; pretty JSON if it accepts none of ours, or is used by people.
    fn format(&self) -> Format {
        let clauses = negotiate::accepted(self.headers);
        let json = || if self.is_pretty_print() { Format::PrettyJson } else { Format::Json };
        if clauses.is_empty() {
            return json();
        }
        let format = clauses.iter().filter(|clause| !clause.transforms()).find_map(|clause| {
            let as_json = clause.accepts("application", "json").then(|| match clause.parameter("pretty") {
                "1" => Format::PrettyJson,
                _ => json(),
            });
            as_json.or_else(|| clause.accepts("application", "yaml").then_some(Format::Yaml))
        });
        format.unwrap_or(Format::PrettyJson)
    }

    /// True for `?pretty=true` and for tools that people use directly (`negotiate.go` `isPrettyPrint`).
    fn is_pretty_print(&self) -> bool {
        let query = form_urlencoded::parse(self.uri.query().unwrap_or_default().as_bytes());
        let pretty = query.into_iter().find(|(name, _)| name == "pretty").map(|(_, value)| value);
        if let Some(pretty) = pretty.filter(|value| !value.is_empty()) {
            return matches!(&*pretty, "1" | "t" | "T" | "TRUE" | "true" | "True");
        }
        let agent = self.headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
        ["curl", "Wget", "Mozilla/5.0"].iter().any(|tool| agent.starts_with(tool.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::ACCEPT;
    use proptest::prelude::*;

    fn body(response: Response) -> String {
        let bytes =
            futures::executor::block_on(axum::body::to_bytes(response.into_body(), usize::MAX)).unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    fn unauthorized_for(uri: &str, headers: &[(http::HeaderName, &str)]) -> (String, String) {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        let response = unauthorized(&RequestHead { headers: &headers, uri: &uri.parse().unwrap() });
        let content_type = response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        (content_type, body(response))
    }

    const COMPACT: &str = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#;

    #[test]
    fn the_format_is_the_one_that_the_client_accepts() {
        let json = || "application/json".to_owned();
        let compact = (json(), format!("{COMPACT}\n"));
        let value: serde_json::Value = serde_json::from_str(COMPACT).unwrap();
        assert_eq!(unauthorized_for("/x", &[]), compact);
        assert_eq!(unauthorized_for("/x", &[(ACCEPT, "*/*"), (USER_AGENT, "Prometheus/3.0")]), compact);
        assert_eq!(unauthorized_for("/x?pretty=0", &[(USER_AGENT, "curl/8")]), compact);
        for (uri, name, header) in [
            ("/x?a=b&pretty=true", ACCEPT, "*/*"),
            ("/x", USER_AGENT, "curl/8.0"),
            ("/x", ACCEPT, "text/html"),
            ("/x", ACCEPT, "application/json;pretty=1"),
            ("/x", ACCEPT, "application/json;as=Table;g=meta.k8s.io;v=v1"),
            ("/x", ACCEPT, "application/vnd.kubernetes.protobuf"),
        ] {
            let (content_type, text) = unauthorized_for(uri, &[(name, header)]);
            assert_eq!(content_type, json());
            assert!(text.starts_with("{\n  \"kind\": \"Status\",\n") && text.ends_with("\n}"), "{text}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
        let (content_type, text) = unauthorized_for("/x", &[(ACCEPT, "*/*;q=0.1,application/yaml")]);
        assert_eq!(content_type, "application/yaml");
        assert!(text.starts_with("apiVersion: v1\ncode: 401\nkind: Status\n"), "{text}");
    }

    /// Expectations are the responses of a real kube-controller-manager.
    #[test]
    fn names_and_paths_are_escaped() {
        let headers = HeaderMap::new();
        let head = RequestHead { headers: &headers, uri: &Uri::from_static("/") };
        let text = body(forbidden(&head, "system:anonymous", "get", "/a<b>&c\"d e", ""));
        let message = r#""message":"forbidden: User \"system:anonymous\" cannot get path \"/a\u0026lt;b\u0026gt;\u0026amp;c\\\"d e\"""#;
        assert!(text.contains(message), "{text}");
        assert!(text.contains(r#""reason":"Forbidden","details":{},"code":403"#), "{text}");
        let text = body(forbidden(&head, "a\n\x01", "get", "/", "no & never"));
        assert!(text.contains(r#"User \"a\\n\\x01\" cannot get path \"/\": no \u0026 never"#), "{text}");
    }

    /// A stranger may send 64 KiB, and read none of it back.
    #[test]
    fn a_long_path_is_cut() {
        let headers = HeaderMap::new();
        let head = RequestHead { headers: &headers, uri: &Uri::from_static("/") };
        let long = "&".repeat(60_000);
        assert!(body(forbidden(&head, "system:anonymous", "get", &long, "")).len() < 4096);
        assert!(body(forbidden(&head, "system:anonymous", &long, "/", "")).len() < 4096);
        let text = body(internal_error(&format!("/{}", "&".repeat(300)).parse().unwrap(), "no review"));
        assert_eq!(text, format!("Internal Server Error: \"/{}...\": no review\n", "&amp;".repeat(255)));
        // The 256th byte is within a character.
        let text = body(forbidden(&head, "a", "get", &format!("//{}", "&ü".repeat(200)), ""));
        let path = format!("cannot get path \\\"//{}\\u0026amp;...\\\"", "\\u0026amp;ü".repeat(84));
        assert!(text.contains(&path), "{text}");
    }

    proptest! {
        /// For any headers, path and user, the response parses and its message names path and user.
        #[test]
        fn any_request_gets_a_response_that_parses(
            accept in "(application/(json|yaml)|\\*|[a-z/*;=,.q0-9 ]){0,4}[\\x20-\\x7e]{0,20}",
            query in "(pretty=)?[a-zA-Z0-9%&=]{0,10}",
            user in any::<String>(),
            path in any::<String>(),
        ) {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(&accept).unwrap())]);
            let head = RequestHead { headers: &headers, uri: &format!("/x?{query}").parse().unwrap() };
            let response = forbidden(&head, &user, "get", &path, "");
            let is_yaml = response.headers()[CONTENT_TYPE] == "application/yaml";
            let text = body(response);
            let status: serde_json::Value =
                if is_yaml { serde_yaml::from_str(&text).unwrap() } else { serde_json::from_str(&text).unwrap() };
            let message = format!("forbidden: User {} cannot get path {}", quote(&user), quote(&path));
            prop_assert_eq!(status["message"].as_str().unwrap(), escape_html(&message));
            prop_assert!(!text.contains(['<', '>']) || is_yaml);
        }
    }
}
