//! Answers and events as documents that can be compared.

use http::header::HeaderMap;
use kube_protobuf::FrameReader;

use super::canonical::Canonical;
use super::exchange::Answer;
use super::tree::Tree;
use super::wire;

/// Headers that say nothing about the API: transport, and the accounting of priority and fairness.
const IGNORED: [&str; 8] = [
    "date",
    "content-length",
    "transfer-encoding",
    "connection",
    "audit-id",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
    "keep-alive",
];

/// The annotation of the bookmark after initial events. All other bookmarks come at any time.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// An answer in canonical form.
pub(crate) fn answer(answer: &Answer, canonical: &mut Canonical) -> Tree {
    let (shape, body) = document(answer.content_type(), &answer.body, canonical);
    let warns = !is_update_conflict(answer);
    object([
        ("status", Tree::Number(answer.status.to_string())),
        ("header", headers(&answer.headers, warns, canonical)),
        ("shape", Tree::Text(shape.to_owned())),
        ("body", body),
    ])
}

fn object<const N: usize>(fields: [(&str, Tree); N]) -> Tree {
    Tree::Object(fields.map(|(key, value)| (key.to_owned(), value)).into())
}

/// True for a write to an old version. The real server first applies it to the object in its cache, and to the stored one
/// after that failed: if the cache was behind, the first attempt left warnings.
fn is_update_conflict(answer: &Answer) -> bool {
    const CAUSE: &[u8] = b"the object has been modified";
    answer.status == 409 && answer.body.windows(CAUSE.len()).any(|part| part == CAUSE)
}

fn headers(headers: &HeaderMap, warns: bool, canonical: &mut Canonical) -> Tree {
    let mut names: Vec<&str> = headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    names.retain(|name| !IGNORED.contains(name) && (warns || *name != "warning"));
    let values = |name: &str, canonical: &mut Canonical| {
        let values = headers.get_all(name).iter();
        Tree::List(
            values
                .map(|value| Tree::Text(canonical.text(&String::from_utf8_lossy(value.as_bytes()))))
                .collect(),
        )
    };
    Tree::Object(names.into_iter().map(|name| (name.to_owned(), values(name, canonical))).collect())
}

/// The white space of a body, which trees do not have, and its content.
fn document(content_type: &str, body: &[u8], canonical: &mut Canonical) -> (&'static str, Tree) {
    let media_type = content_type.split(';').next().unwrap_or_default();
    if media_type == "application/vnd.kubernetes.protobuf" {
        return match wire::object(body) {
            Ok(mut tree) => {
                canonical.tree(&mut tree);
                ("protobuf", tree)
            }
            Err(error) => ("bad protobuf", Tree::Text(format!("{error}: {}", body.escape_ascii()))),
        };
    }
    let text = String::from_utf8_lossy(body);
    if media_type == "application/json"
        && let Ok(mut tree) = Tree::parse(&text)
    {
        canonical.tree(&mut tree);
        let shape = match (text.contains("\n  "), text.ends_with('\n')) {
            (false, true) => "compact and end of line",
            (false, false) => "compact",
            (true, true) => "indented and end of line",
            (true, false) => "indented",
        };
        return (shape, tree);
    }
    ("text", Tree::List(canonical.lines(&text).into_iter().map(Tree::Text).collect()))
}

/// The events of a stream.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) events: Vec<Tree>,
    /// Bookmarks that may come at any time.
    pub(crate) bookmarks: Vec<Tree>,
    pub(crate) error: Option<String>,
}

/// Splits a stream into events, not yet canonical.
pub(crate) fn events(content_type: &str, received: &[u8]) -> Received {
    let mut found = Received::default();
    let all = if content_type.starts_with("application/vnd.kubernetes.protobuf") {
        protobuf_events(received)
    } else {
        json_events(received)
    };
    for event in all {
        match event {
            Ok((kind, tree)) if kind == "BOOKMARK" && !tree.print().contains(INITIAL_EVENTS_END) => {
                found.bookmarks.push(tree);
            }
            Ok((kind, tree)) => {
                found.events.push(object([("type", Tree::Text(kind)), ("object", tree)]));
            }
            Err(error) => found.error = Some(error),
        }
    }
    found
}

/// True for the bookmark after initial events, of those in [`Received::events`].
pub(crate) fn is_bookmark(event: &Tree) -> bool {
    event.get("type").and_then(Tree::as_text) == Some("BOOKMARK")
}

type Event = Result<(String, Tree), String>;

fn json_events(received: &[u8]) -> Vec<Event> {
    let text = String::from_utf8_lossy(received);
    // The last line is complete if it ends.
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let parse = |line: &str| -> Event {
        match Tree::parse(line).map_err(|error| format!("{error}: {line}"))? {
            Tree::Object(mut fields) if fields.iter().map(|(key, _)| key).eq(["type", "object"]) => {
                let (_, object) = fields.pop().unwrap();
                Ok((fields[0].1.as_text().unwrap_or_default().to_owned(), object))
            }
            // The answer was an object instead of a stream.
            other => Ok(("not an event".to_owned(), other)),
        }
    };
    lines.map(parse).collect()
}

fn protobuf_events(received: &[u8]) -> Vec<Event> {
    let mut reader = FrameReader::default();
    reader.push(received);
    let mut events = Vec::new();
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => events.push(wire::event(frame)),
            Ok(None) => return events,
            Err(error) => {
                events.push(Err(error.to_string()));
                return events;
            }
        }
    }
}

/// The events of a stream in canonical form; the bookmarks too if they are determined.
pub(crate) fn stream(events: Received, ended: bool, bookmarks: bool, canonical: &mut Canonical) -> Tree {
    let mut list = Tree::List(events.events);
    canonical.tree(&mut list);
    let mut marks = events.bookmarks;
    marks.retain(|_| bookmarks);
    for mark in &mut marks {
        canonical.bookmark(mark);
    }
    // How many there are is chance.
    marks.dedup();
    object([
        ("events", list),
        ("bookmarks", Tree::List(marks)),
        ("end", Tree::Bool(ended)),
        ("error", events.error.map_or(Tree::Null, Tree::Text)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_a_conflict_are_not_compared() {
        let header = |status: u16, message: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("warning", "299 - \"x\"".parse().unwrap());
            let answer =
                super::answer(&Answer { status, headers, body: message.into() }, &mut Canonical::default());
            answer.get("header").unwrap().print()
        };
        assert_eq!(header(409, "Conflict: the object has been modified; please"), "{}");
        assert!(header(409, "services \"a\" already exists").contains("299"));
        assert!(header(200, "the object has been modified").contains("299"));
    }
}
