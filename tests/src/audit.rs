//! The audit log: requests to the API server, their users, and the answers.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use crate::cluster::User;

/// The resources whose bodies the audit policy of [`cluster`](crate::cluster) keeps.
const WITH_BODY: [&str; 4] = ["endpoints", "endpointslices", "events", "leases"];

/// The log of one cluster.
#[derive(Debug, Clone)]
pub struct AuditLog {
    path: PathBuf,
}

/// A point in the log that separates requests that the server has received before from later ones, even if it logs the
/// earlier ones later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The offset of the first line after the mark, in bytes.
    position: u64,
    time: Timestamp,
}

/// One answered request; a watch counts from the beginning of the answer.
#[derive(Debug, Clone)]
pub struct Request {
    /// `create`, `update`, `patch`, `delete`, `deletecollection`; `get`, `list`, `watch` of controllers.
    pub verb: String,
    /// The plural name of the resource, with its subresource: `endpointslices`, `pods/status`.
    pub resource: String,
    /// Empty if the resource has none.
    pub namespace: String,
    /// The name in the URL, or that of the object that a create sent or got; may be empty.
    pub name: String,
    /// The authenticated user.
    pub user: String,
    /// The user agent that the client sent.
    pub user_agent: String,
    /// The HTTP status of the answer.
    pub code: u16,
    /// The body of the request, where the audit policy keeps it.
    pub body: Option<Value>,
    /// The time at which the API server received the request.
    pub received: Timestamp,
    /// The time of the response.
    pub answered: Timestamp,
}

impl Request {
    /// The program that sent the request: the first part of its user agent.
    pub fn program(&self) -> &str {
        self.user_agent.split('/').next().unwrap_or_default()
    }

    /// True for a request that asks for a change, successful or refused, and that the server took up.
    pub fn is_write(&self) -> bool {
        let asks =
            matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        asks && !self.is_broken_off()
    }

    /// True for a request about Endpoints or slices themselves, false for one about an event.
    pub fn is_of_endpoints(&self) -> bool {
        matches!(self.resource.as_str(), "endpoints" | "endpointslices")
    }

    /// True if the server could not serve the request for now, so that the client sends it again: how often that happens
    /// depends on the machine's load, not on the program.
    pub fn is_unserved(&self) -> bool {
        matches!(self.code, 429 | 500..)
    }

    /// True if the server refused a request without having read its body: the client froze or ended while it sent the
    /// request. That changes nothing, and the answer can come any time after the client has lost its right to write. A
    /// body that is absent for another reason, such as a missing permission, has another status.
    fn is_broken_off(&self) -> bool {
        let has_body = matches!(self.verb.as_str(), "create" | "update" | "patch");
        let is_unreadable = matches!(self.code, 400 | 408 | 500..);
        has_body && WITH_BODY.contains(&self.resource.as_str()) && self.body.is_none() && is_unreadable
    }
}

/// Fails if one of these requests was refused for lack of a permission.
pub fn assert_allowed<'a>(requests: impl IntoIterator<Item = &'a Request>) {
    let refused = requests.into_iter().filter(|request| request.code == 403);
    let refused: Vec<String> = refused.map(ToString::to_string).collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, resource, namespace, name, user, code, body, .. } = self;
        write!(f, "{verb} {resource} {namespace}/{name} by {user}: {code}")?;
        body.as_ref().map_or(Ok(()), |body| write!(f, " {body}"))
    }
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Separates the requests so far from later ones.
    pub fn mark(&self) -> Mark {
        let position = self.end();
        // In whole microseconds, as the times in the log.
        let time = Timestamp::from_microsecond(Timestamp::now().as_microsecond()).expect("a time");
        Mark { position, time }
    }

    /// The end of the last complete line.
    fn end(&self) -> u64 {
        const STEP: u64 = 64 * 1024;
        let Ok(mut file) = File::open(&self.path) else { return 0 };
        let mut end = file.seek(SeekFrom::End(0)).expect("the size of the audit log");
        while end > 0 {
            let start = end.saturating_sub(STEP);
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(start)).expect("seeking in the audit log");
            (&file).take(end - start).read_to_end(&mut bytes).expect("reading the audit log");
            if let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') {
                return start + u64::try_from(last).unwrap() + 1;
            }
            end = start;
        }
        0
    }

    /// The requests received and answered since `mark`, in the order of their answers. Entries that are still being
    /// written are missing.
    pub fn since(&self, mark: Mark) -> Vec<Request> {
        let mut bytes = Vec::new();
        let mut file = File::open(&self.path).expect("the audit log");
        file.seek(SeekFrom::Start(mark.position)).expect("seeking in the audit log");
        file.read_to_end(&mut bytes).expect("reading the audit log");
        // What follows the last line break is still being written.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or_default());
        let complete = String::from_utf8(bytes).expect("the audit log in UTF-8");
        let mut requests: Vec<Request> = complete.lines().filter_map(parse).collect();
        requests.retain(|request| request.received >= mark.time);
        requests
    }

    /// Counts the lists and watches of `user` that the server has begun to answer since `mark`, by resource.
    pub fn list_watches_since(&self, mark: Mark, user: User) -> BTreeMap<String, usize> {
        let mut list_watches = BTreeMap::new();
        for request in self.since(mark) {
            let is_served = request.code == 200 && matches!(request.verb.as_str(), "list" | "watch");
            if is_served && request.user == user.name() {
                *list_watches.entry(request.resource).or_default() += 1;
            }
        }
        list_watches
    }

    /// The writes of `user` since `mark`.
    pub fn writes_since(&self, mark: Mark, user: User) -> Vec<Request> {
        let mut requests = self.since(mark);
        requests.retain(|request| request.is_write() && request.user == user.name());
        requests
    }
}

/// One line of the log; none if it is not the counted stage of a request.
fn parse(line: &str) -> Option<Request> {
    let mut event: Value = serde_json::from_str(line).expect("an audit event");
    let body = event.get_mut("requestObject").map(Value::take).filter(|body| !body.is_null());
    // There is no user if the request was refused before it was authenticated.
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let always =
        |pointer: &str| event.pointer(pointer).and_then(Value::as_str).expect("a field of every event");
    let time = |pointer: &str| text(pointer).parse().expect("a time");
    let stage = if always("/verb") == "watch" { "ResponseStarted" } else { "ResponseComplete" };
    if event.get("objectRef").is_none() || always("/stage") != stage {
        return None;
    }
    let (name, subresource) = (text("/objectRef/name"), text("/objectRef/subresource"));
    let code = event.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default();
    Some(Request {
        verb: text("/verb"),
        resource: match subresource.as_str() {
            "" => text("/objectRef/resource"),
            subresource => format!("{}/{subresource}", text("/objectRef/resource")),
        },
        namespace: text("/objectRef/namespace"),
        name: if name.is_empty() { name_in(body.as_ref()) } else { name },
        user: text("/user/username"),
        user_agent: text("/userAgent"),
        code: u16::try_from(code).expect("a status"),
        body,
        received: time("/requestReceivedTimestamp"),
        answered: time("/stageTimestamp"),
    })
}

/// A create has its name in the body, or only the prefix for a generated one.
fn name_in(body: Option<&Value>) -> String {
    let metadata = body.and_then(|body| body.get("metadata"));
    let field = |key| metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
    field("name").or_else(|| field("generateName")).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_create_is_read_with_its_body_and_generated_name() {
        let line = r#"{"kind":"Event","stage":"ResponseComplete","verb":"create","user":{"username":"me"},
            "userAgent":"agent/1","objectRef":{"resource":"endpointslices","namespace":"a","apiGroup":"x"},
            "responseStatus":{"code":201},"requestObject":{"metadata":{"generateName":"web-"}},
            "requestReceivedTimestamp":"2001-01-01T00:00:00.000000Z","stageTimestamp":"2001-01-01T00:00:00.250000Z"}"#;
        let request = parse(line).unwrap();
        assert!(request.is_write());
        assert_eq!((request.name.as_str(), request.code), ("web-", 201));
        assert_eq!((request.user.as_str(), request.user_agent.as_str()), ("me", "agent/1"));
        let took = request.answered.duration_since(request.received);
        assert_eq!((request.program(), took), ("agent", SignedDuration::from_millis(250)));
    }

    /// The request of an [`event`].
    fn request(fields: &Value) -> Request {
        parse(&event(fields).to_string()).unwrap()
    }

    /// An audit event with these fields instead of those of a create of Endpoints by `me`.
    fn event(fields: &Value) -> Value {
        let mut event = json!({
            "stage": "ResponseComplete", "verb": "create", "user": {"username": "me"},
            "objectRef": {"resource": "endpoints"}, "responseStatus": {"code": 201},
            "requestReceivedTimestamp": "2001-01-01T00:00:00Z", "stageTimestamp": "2001-01-01T00:00:00Z",
        });
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        event
    }

    #[test]
    fn a_request_whose_body_never_came_is_no_write() {
        for verb in ["create", "update", "patch"] {
            for code in [400, 500, 504] {
                let fields = json!({"verb": verb, "responseStatus": {"code": code}});
                assert!(!request(&fields).is_write(), "{fields}");
                let mut complete = fields;
                complete["requestObject"] = Value::Null;
                assert!(!request(&complete).is_write(), "as the embedded server logs it: {complete}");
                complete["requestObject"] = json!({});
                assert!(request(&complete).is_write(), "{complete}");
            }
        }
    }

    #[test]
    fn other_requests_for_a_change_are_writes() {
        for fields in [
            // Refused for another reason than the body, or not at all.
            json!({"responseStatus": {"code": 403}}),
            json!({"responseStatus": {"code": 429}}),
            json!({}),
            // A delete needs no body.
            json!({"verb": "delete", "responseStatus": {"code": 500}}),
            json!({"verb": "deletecollection", "responseStatus": {"code": 500}}),
            // The audit policy keeps no bodies of these.
            json!({"objectRef": {"resource": "pods"}, "responseStatus": {"code": 500}}),
        ] {
            assert!(request(&fields).is_write(), "{fields}");
        }
        assert!(!request(&json!({"verb": "get"})).is_write());
    }

    #[test]
    fn a_busy_server_leaves_requests_unserved() {
        for (code, expected) in
            [(201, false), (403, false), (409, false), (429, true), (500, true), (504, true)]
        {
            assert_eq!(request(&json!({"responseStatus": {"code": code}})).is_unserved(), expected, "{code}");
        }
    }

    #[test]
    fn the_end_is_between_two_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = AuditLog::new(folder.path().join("audit.log"));
        assert_eq!(log.end(), 0);
        for (text, expected) in [("", 0), ("unfinished", 0), ("one\n", 4), ("one\ntwo\nunfin", 8)] {
            std::fs::write(&log.path, text).unwrap();
            assert_eq!(log.end(), expected, "{text:?}");
        }
        std::fs::write(&log.path, format!("one\n{}", "x".repeat(200_000))).unwrap();
        assert_eq!(log.end(), 4);
    }

    #[test]
    fn what_was_received_before_a_mark_and_logged_after_it_is_earlier() {
        let folder = tempfile::tempdir().unwrap();
        let log = AuditLog::new(folder.path().join("audit.log"));
        let mark = log.mark();
        let line = |name: &str, received: Timestamp| {
            let object = json!({"resource": "endpoints", "name": name});
            let event =
                event(&json!({"objectRef": object, "requestReceivedTimestamp": received.to_string()}));
            format!("{event}\n")
        };
        let second = SignedDuration::from_secs(1);
        let lines = [
            line("earlier", mark.time - second),
            line("at-once", mark.time),
            line("later", mark.time + second),
        ];
        std::fs::write(&log.path, lines.concat()).unwrap();
        let names: Vec<String> = log.since(mark).into_iter().map(|request| request.name).collect();
        assert_eq!(names, ["at-once", "later"]);
    }

    #[test]
    fn a_request_may_lack_a_user() {
        assert_eq!(request(&json!({"user": {}})).user, "");
    }

    #[test]
    fn a_watch_counts_once_and_from_its_beginning() {
        let watch = |stage| parse(&event(&json!({"stage": stage, "verb": "watch"})).to_string());
        assert!(watch("ResponseStarted").is_some());
        assert!(watch("ResponseComplete").is_none());
    }
}
