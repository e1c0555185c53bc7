//! Writes that a sync would make, as differences: the object, and the fields in which it is not as the sync would leave it.

use endpoint_informers::pending::PendingWrite;
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use serde_json::Value;

use crate::differences::{FieldChange, fields_changed, fields_created};
use crate::printing::plain;

/// The longest value or path that is kept, in characters.
const MAX_TEXT: usize = 160;

/// The kind of a difference: the write that would end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Create,
    Update,
    Delete,
    /// The write is not known, because an object in the cache can't be decoded.
    Unknown,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Delete, Self::Unknown];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Unknown => "unknown",
        }
    }
}

/// The identity of a difference among those of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) kind: Kind,
    /// The kind of object.
    pub(super) object: &'static str,
    /// Of an object that does not exist and whose name is generated, the prefix.
    pub(super) name: Box<str>,
    pub(super) is_generated: bool,
    /// Distinguishes objects without a name of their own.
    pub(super) number: usize,
}

/// A field in which an object differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) path: Box<str>,
    pub(super) before: Option<Box<str>>,
    pub(super) after: Option<Box<str>>,
}

/// A difference as a comparison finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) identity: Identity,
    /// Empty for an object that would be deleted.
    pub(super) fields: Vec<Field>,
}

/// The differences that the writes would end; one about the Service of this name if they are not known.
///
/// Cost: three copies of each object.
pub(super) fn found(service: &str, pending: Option<Vec<PendingWrite>>) -> Vec<Found> {
    let Some(pending) = pending else {
        let identity = Identity {
            kind: Kind::Unknown,
            object: "Service",
            name: service.into(),
            is_generated: false,
            number: 0,
        };
        return vec![Found { identity, fields: Vec::new() }];
    };
    let mut all: Vec<Found> = Vec::new();
    for write in pending {
        let (kind, fields) = match &write {
            PendingWrite::Create(new) => (Kind::Create, fields_created(&content(new.to_json()))),
            PendingWrite::Update(old, new) => {
                (Kind::Update, fields_changed(&content(old.to_json()), &content(new.to_json())))
            }
            PendingWrite::Delete(_) => (Kind::Delete, Vec::new()),
        };
        let mut identity = Identity {
            kind,
            object: write.object().kind(),
            name: write.name().into(),
            is_generated: kind == Kind::Create && write.name().ends_with('-'),
            number: 0,
        };
        identity.number = all
            .iter()
            .filter(|other| other.identity == Identity { number: other.identity.number, ..identity.clone() })
            .count();
        all.push(Found { identity, fields: fields.into_iter().map(field).collect() });
    }
    all
}

fn field(FieldChange { path, before, after }: FieldChange) -> Field {
    let text = |value: Value| short(&plain(&value));
    Field { path: short(&path), before: before.map(text), after: after.map(text) }
}

fn short(text: &str) -> Box<str> {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// Fields of metadata that the API server sets, and that it keeps if a write leaves them out.
const SET_BY_SERVER: [&str; 3] = ["creationTimestamp", "generateName", "uid"];

/// An object without the time of the change that it was written for, which only its writer knows, without what the API server
/// sets, and without empty lists and maps, which no reader distinguishes from none.
fn content(mut object: Value) -> Value {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.retain(|field, _| !SET_BY_SERVER.contains(&field.as_str()));
    }
    if let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") {
        annotations.remove(LAST_CHANGE_TRIGGER_TIME);
    }
    remove_empty(&mut object);
    object
}

fn remove_empty(value: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(remove_empty);
            fields.retain(|_, value| !is_empty(value));
        }
        Value::Array(items) => items.iter_mut().for_each(remove_empty),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
