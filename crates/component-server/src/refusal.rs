//! Answers to requests that go no further, in the words of `meta.v1.Status`.

use std::fmt::Write as _;

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, StatusCode, Uri};
use serde::Serialize;

use crate::negotiate;

/// A refusal; the order of the fields is that of Go's encoder.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Refusal<'a> {
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

/// What a refusal depends on beside itself: the form that the client wants.
pub(crate) struct Asked<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) uri: &'a Uri,
}

/// 401.
pub(crate) fn unauthorized(asked: &Asked<'_>) -> Response {
    asked.refuse(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized", None)
}

/// 403 (`responsewriters.Forbidden`): who, what, and why if there is a reason.
pub(crate) fn forbidden(asked: &Asked<'_>, user: &str, verb: &str, path: &str, reason: &str) -> Response {
    let message = format!("forbidden: User {} cannot {verb} path {}", quote(user), quote(path));
    let mut message = escape_html(&message);
    if !reason.is_empty() {
        message = format!("{message}: {reason}");
    }
    let mut response = asked.refuse(StatusCode::FORBIDDEN, "Forbidden", &message, Some(Empty {}));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// 406 of pages that have a structured form.
pub(crate) fn not_acceptable(asked: &Asked<'_>) -> Response {
    let message =
        "only the following media types are accepted: application/json, application/yaml, text/plain";
    asked.refuse(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message, None)
}

/// 500 because somebody could not be asked (`responsewriters.InternalError`).
pub(crate) fn internal_error(uri: &Uri, error: &str) -> Response {
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    let text = format!("Internal Server Error: {}: {error}", quote(target));
    plain(StatusCode::INTERNAL_SERVER_ERROR, escape_html(&text))
}

/// 429 or 503: not now (`server/filters/maxinflight.go` `tooManyRequests`).
pub(crate) fn try_again(code: StatusCode) -> Response {
    let mut response = plain(code, "Too many requests, please try again later.".to_owned());
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// An answer in words, as Go's `http.Error` gives it.
pub(crate) fn plain(code: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text + "\n"));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// 404 of a path that leads nowhere.
pub(crate) fn not_found() -> Response {
    plain(StatusCode::NOT_FOUND, "404 page not found".to_owned())
}

enum Form {
    Json,
    /// For people.
    Indented,
    Yaml,
}

impl Asked<'_> {
    fn refuse(
        &self,
        code: StatusCode,
        reason: &'static str,
        message: &str,
        details: Option<Empty>,
    ) -> Response {
        let status = Refusal {
            kind: "Status",
            api_version: "v1",
            metadata: Empty {},
            status: "Failure",
            message,
            reason,
            details,
            code: code.as_u16(),
        };
        let (content_type, body) = match self.form() {
            Form::Json => {
                ("application/json", serde_json::to_string(&status).map(|json| go_json(&json) + "\n").ok())
            }
            Form::Indented => {
                ("application/json", serde_json::to_string_pretty(&status).map(|json| go_json(&json)).ok())
            }
            Form::Yaml => ("application/yaml", Some(status.yaml())),
        };
        let mut response = Response::new(Body::from(body.unwrap_or_default()));
        *response.status_mut() = code;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        response
    }

    /// The first form that the client accepts; indented JSON if it accepts none, or looks like a person's.
    fn form(&self) -> Form {
        let clauses = negotiate::accepted(self.headers);
        let plain_json = || if self.is_person() { Form::Indented } else { Form::Json };
        if clauses.is_empty() {
            return plain_json();
        }
        let form = clauses.iter().filter(|clause| !clause.transforms()).find_map(|clause| {
            let json = clause.admits("application", "json").then(|| match clause.parameter("pretty") {
                "1" => Form::Indented,
                _ => plain_json(),
            });
            json.or_else(|| clause.admits("application", "yaml").then_some(Form::Yaml))
        });
        form.unwrap_or(Form::Indented)
    }

    /// `?pretty=true`, or one of the tools that people type at (`negotiate.go` `isPrettyPrint`).
    fn is_person(&self) -> bool {
        let query = form_urlencoded::parse(self.uri.query().unwrap_or_default().as_bytes());
        let pretty = query.into_iter().find(|(name, _)| name == "pretty").map(|(_, value)| value);
        if let Some(pretty) = pretty.filter(|value| !value.is_empty()) {
            return matches!(&*pretty, "1" | "t" | "T" | "TRUE" | "true" | "True");
        }
        let agent = self.headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
        ["curl", "Wget", "Mozilla/5.0"].iter().any(|tool| agent.starts_with(tool.as_bytes()))
    }
}

impl Refusal<'_> {
    /// Writes YAML with its fields in the order of their names, as upstream's.
    ///
    /// The message, in which a stranger has had his word, is quoted here rather than by a library for all of YAML.
    fn yaml(&self) -> String {
        let Self { kind, api_version, status, message, reason, code, .. } = self;
        let details = if self.details.is_some() { "details: {}\n" } else { "" };
        let message = quote_yaml(message);
        format!(
            "apiVersion: {api_version}\ncode: {code}\n{details}kind: {kind}\nmessage: {message}\nmetadata: {{}}\n\
             reason: {reason}\nstatus: {status}\n"
        )
    }
}

/// Writes a scalar of YAML in double quotes, in ASCII.
fn quote_yaml(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        // Writing into a String cannot fail.
        let _ = match (c, u32::from(c)) {
            ('"' | '\\', _) => write!(quoted, "\\{c}"),
            (' '..='~', _) => write!(quoted, "{c}"),
            (_, code @ ..=0xffff) => write!(quoted, "\\u{code:04x}"),
            (_, code) => write!(quoted, "\\U{code:08x}"),
        };
    }
    quoted.push('"');
    quoted
}

/// Go's JSON encoder keeps text safe to stand inside HTML.
fn go_json(json: &str) -> String {
    let escapes = [
        ('&', r"\u0026"),
        ('<', r"\u003c"),
        ('>', r"\u003e"),
        ('\u{2028}', r"\u2028"),
        ('\u{2029}', r"\u2029"),
    ];
    replace_all(json, &escapes)
}

fn escape_html(text: &str) -> String {
    replace_all(text, &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;")])
}

fn replace_all(text: &str, replacements: &[(char, &str)]) -> String {
    let mut replaced = String::with_capacity(text.len());
    for c in text.chars() {
        match replacements.iter().find(|(from, _)| *from == c) {
            Some((_, to)) => replaced.push_str(to),
            None => replaced.push(c),
        }
    }
    replaced
}

/// A string in double quotes with Go's escapes (`%q`).
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        // Writing into a String cannot fail.
        let _ = match c {
            '"' | '\\' => write!(quoted, "\\{c}"),
            '\x07' => write!(quoted, "\\a"),
            '\x08' => write!(quoted, "\\b"),
            '\x0c' => write!(quoted, "\\f"),
            '\n' => write!(quoted, "\\n"),
            '\r' => write!(quoted, "\\r"),
            '\t' => write!(quoted, "\\t"),
            '\x0b' => write!(quoted, "\\v"),
            c if c < ' ' || c == '\x7f' => write!(quoted, "\\x{:02x}", u32::from(c)),
            // Whatever has no shape of its own; the same set as Go's, up to combining marks.
            c if c != '\'' && c.escape_debug().len() > 1 => match u32::from(c) {
                code @ ..=0xffff => write!(quoted, "\\u{code:04x}"),
                code => write!(quoted, "\\U{code:08x}"),
            },
            c => write!(quoted, "{c}"),
        };
    }
    quoted.push('"');
    quoted
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

    fn refused(uri: &str, headers: &[(http::HeaderName, &str)]) -> (String, String) {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        let response = unauthorized(&Asked { headers: &headers, uri: &uri.parse().unwrap() });
        let content_type = response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        (content_type, body(response))
    }

    const COMPACT: &str = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#;

    #[test]
    fn the_form_is_the_one_that_the_client_wants() {
        let json = || "application/json".to_owned();
        let compact = (json(), format!("{COMPACT}\n"));
        let value: serde_json::Value = serde_json::from_str(COMPACT).unwrap();
        assert_eq!(refused("/x", &[]), compact);
        assert_eq!(refused("/x", &[(ACCEPT, "*/*"), (USER_AGENT, "Prometheus/3.0")]), compact);
        assert_eq!(refused("/x?pretty=0", &[(USER_AGENT, "curl/8")]), compact);
        for (uri, name, header) in [
            ("/x?a=b&pretty=true", ACCEPT, "*/*"),
            ("/x", USER_AGENT, "curl/8.0"),
            ("/x", ACCEPT, "text/html"),
            ("/x", ACCEPT, "application/json;pretty=1"),
            ("/x", ACCEPT, "application/json;as=Table;g=meta.k8s.io;v=v1"),
            ("/x", ACCEPT, "application/vnd.kubernetes.protobuf"),
        ] {
            let (content_type, text) = refused(uri, &[(name, header)]);
            assert_eq!(content_type, json());
            assert!(text.starts_with("{\n  \"kind\": \"Status\",\n") && text.ends_with("\n}"), "{text}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
        let (content_type, text) = refused("/x", &[(ACCEPT, "*/*;q=0.1,application/yaml")]);
        assert_eq!(content_type, "application/yaml");
        assert!(text.starts_with("apiVersion: v1\ncode: 401\nkind: Status\n"), "{text}");
    }

    /// As a real kube-controller-manager answers.
    #[test]
    fn names_and_paths_cannot_break_out() {
        let headers = HeaderMap::new();
        let asked = Asked { headers: &headers, uri: &Uri::from_static("/") };
        let text = body(forbidden(&asked, "system:anonymous", "get", "/a<b>&c\"d e", ""));
        let message = r#""message":"forbidden: User \"system:anonymous\" cannot get path \"/a\u0026lt;b\u0026gt;\u0026amp;c\\\"d e\"""#;
        assert!(text.contains(message), "{text}");
        assert!(text.contains(r#""reason":"Forbidden","details":{},"code":403"#), "{text}");
        let text = body(forbidden(&asked, "a\n\x01", "get", "/", "no & never"));
        assert!(text.contains(r#"User \"a\\n\\x01\" cannot get path \"/\": no \u0026 never"#), "{text}");
    }

    proptest! {
        /// Whatever a client writes into its headers, path and name: the answer can be read, and says it back.
        #[test]
        fn any_request_gets_an_answer_that_can_be_read(
            accept in "(application/(json|yaml)|\\*|[a-z/*;=,.q0-9 ]){0,4}[\\x20-\\x7e]{0,20}",
            query in "(pretty=)?[a-zA-Z0-9%&=]{0,10}",
            user in any::<String>(),
            path in any::<String>(),
        ) {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(&accept).unwrap())]);
            let asked = Asked { headers: &headers, uri: &format!("/x?{query}").parse().unwrap() };
            let response = forbidden(&asked, &user, "get", &path, "");
            let is_yaml = response.headers()[CONTENT_TYPE] == "application/yaml";
            let text = body(response);
            prop_assert!(!is_yaml || text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{}", text);
            let status: serde_json::Value =
                if is_yaml { serde_yaml::from_str(&text).unwrap() } else { serde_json::from_str(&text).unwrap() };
            let message = format!("forbidden: User {} cannot get path {}", quote(&user), quote(&path));
            prop_assert_eq!(status["message"].as_str().unwrap(), escape_html(&message));
            prop_assert!(!text.contains(['<', '>']) || is_yaml);
        }
    }

    #[test]
    fn quotes_are_those_of_go() {
        assert_eq!(quote("a'b\\\"\u{7}\t\u{1b}\u{7f}"), r#""a'b\\\"\a\t\x1b\x7f""#);
        assert_eq!(quote("ü日\u{80}\u{2028}\u{e0001}"), r#""ü日\u0080\u2028\U000e0001""#);
    }

    #[test]
    fn a_failure_to_ask_is_told_in_words() {
        let text = body(internal_error(&Uri::from_static("/metrics?a&b"), "no review"));
        assert_eq!(text, "Internal Server Error: \"/metrics?a&amp;b\": no review\n");
    }
}
