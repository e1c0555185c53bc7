//! Requests as data. Where a request depends on earlier answers it has references, which are resolved for each server.
//!
//! | Reference | Value |
//! |---|---|
//! | `⟦ns⟧` | the namespace of the sequence; names of cluster-scoped objects begin with it |
//! | `⟦rv:SUBJECT⟧`, `⟦uid:SUBJECT⟧` | of the object as it was last seen |
//! | `⟦first:SUBJECT⟧` | its resourceVersion when it was first seen |
//! | `⟦name:N⟧`, `⟦continue:N⟧`, `⟦list:N⟧` | the object's name, the continue token, the resourceVersion of the answer to request N |
//! | `⟦slot⟧` | a number from 50 to 113 that no other sequence has at the same time |
//!
//! References without a value (the earlier request failed, or was dropped by shrinking) have a constant instead.

use serde_json::Value;

/// A step of a sequence.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Its place in the sequence that the generator made; it stays when other requests are dropped.
    pub(crate) number: usize,
    pub(crate) method: &'static str,
    /// The path, with references.
    pub(crate) path: String,
    /// Keys and values, with references, before percent encoding.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) accept: Option<&'static str>,
    pub(crate) body: Body,
    pub(crate) action: Action,
    /// The object that a successful answer shows, such as `pods/p1`.
    pub(crate) subject: Option<String>,
    /// The list whose events the real server's cache must have handled before this request is answered from it.
    pub(crate) sync: Option<String>,
    /// The cells of the coverage that the request is in.
    pub(crate) cell: Cell,
}

/// The treatment of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The answer is compared.
    Answer,
    /// The answer is a stream that stays open while other requests are made, until [`Action::Close`] or the end.
    Watch,
    /// No request: the events of the watch with this number are compared, and it ends.
    Close(usize),
    /// No request: like `Close`, but the server has to end it (by `timeoutSeconds`).
    AwaitEnd(usize),
}

/// A kind, a verb, and an option of the verb: what coverage counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Cell {
    pub(crate) resource: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) option: &'static str,
}

/// A body.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    None,
    /// A text with references, as it is.
    Text(String),
    /// A document with references.
    Json(Value),
    /// The object as it was last seen, or `unseen`, with edits.
    Latest {
        subject: String,
        unseen: Value,
        edits: Vec<Edit>,
    },
    /// The protobuf answer to a request with another name, without uid and resourceVersion if `fresh`, and with a label.
    Protobuf {
        of: usize,
        fresh: bool,
        label: Option<(&'static str, String)>,
    },
    /// Bytes that are not a valid body of any kind.
    Bytes(&'static [u8]),
}

/// A change of a document at a JSON pointer.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    /// Parents are created.
    Set(String, Value),
    Remove(String),
}

impl Edit {
    pub(crate) fn set(pointer: &str, value: impl Into<Value>) -> Self {
        Self::Set(pointer.to_owned(), value.into())
    }

    pub(crate) fn remove(pointer: &str) -> Self {
        Self::Remove(pointer.to_owned())
    }

    pub(crate) fn apply(&self, document: &mut Value) {
        match self {
            Self::Set(pointer, value) => set(document, pointer, value.clone()),
            Self::Remove(pointer) => {
                let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
                match document.pointer_mut(parent) {
                    Some(Value::Object(fields)) => drop(fields.remove(&unescape(key))),
                    Some(Value::Array(items)) => {
                        if let Some(at) = key.parse::<usize>().ok().filter(|at| *at < items.len()) {
                            items.remove(at);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

fn unescape(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

fn set(document: &mut Value, pointer: &str, value: Value) {
    let mut at = document;
    for key in pointer.split('/').skip(1) {
        let key = unescape(key);
        if let Value::Array(items) = at {
            match key.parse::<usize>() {
                Ok(index) if index < items.len() => at = &mut items[index],
                _ => {
                    items.push(Value::Null);
                    at = items.last_mut().unwrap();
                }
            }
            continue;
        }
        if !at.is_object() {
            *at = Value::Object(serde_json::Map::new());
        }
        at = at.as_object_mut().unwrap().entry(key).or_insert(Value::Null);
    }
    *at = value;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn edits_change_documents() {
        let mut document = json!({"a": {"b": [1, {"c": 2}]}});
        Edit::set("/a/b/1/c", 3).apply(&mut document);
        Edit::set("/a/b/9", 4).apply(&mut document);
        Edit::set("/m/x~1y", "z").apply(&mut document);
        assert_eq!(document, json!({"a": {"b": [1, {"c": 3}, 4]}, "m": {"x/y": "z"}}));
        Edit::remove("/m/x~1y").apply(&mut document);
        Edit::remove("/a/b/0").apply(&mut document);
        Edit::remove("/none/at/all").apply(&mut document);
        assert_eq!(document, json!({"a": {"b": [{"c": 3}, 4]}, "m": {}}));
    }
}
