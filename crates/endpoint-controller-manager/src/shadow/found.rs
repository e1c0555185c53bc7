//! Writes that a sync would make, as differences: the object, and the fields in which it is not as the sync would leave it.

use cli_runtime::differences::{FieldChange, fields_of_write};
use cli_runtime::printing::plain;
use endpoint_informers::pending::PendingWrite;
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use serde::Serialize;
use serde_json::Value;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Field {
    pub(super) path: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
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
        let (kind, (before, after)) = match write {
            PendingWrite::Create(_) => (Kind::Create, write.sides()),
            PendingWrite::Update(..) => (Kind::Update, write.sides()),
            PendingWrite::Delete(_) => (Kind::Delete, (None, None)),
        };
        // The time of the change, which only the writer of the object knows.
        let fields = fields_of_write(before, after, LAST_CHANGE_TRIGGER_TIME);
        let mut identity = Identity {
            kind,
            object: write.kind(),
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

#[cfg(test)]
mod tests;
