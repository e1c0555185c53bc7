//! Changes of objects as events of Services.

use serde::Serialize;

/// The longest text of an event, in characters.
const TEXT: usize = 240;

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The kind of the object.
    pub kind: Kind,
    /// The name of the object.
    pub object: String,
    /// The event, without the object: "became ready".
    pub text: String,
    /// The field manager of a write, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Its meaning for clients of the Service.
    pub tone: Tone,
}

/// The kind of object that an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// A pod.
    Pod,
    /// A Service.
    Service,
    /// An EndpointSlice.
    Slice,
    /// An Endpoints object.
    Endpoints,
    /// A node.
    Node,
    /// A report: what a Service has in sum.
    Report,
    /// The watch itself.
    Watch,
}

/// The meaning of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Tone {
    /// More endpoints can be used.
    Good,
    /// Fewer endpoints can be used, or something is wrong.
    Bad,
    /// Neither.
    Neutral,
}

impl Event {
    pub(crate) fn new(kind: Kind, object: &str, text: impl Into<String>, tone: Tone) -> Self {
        let mut text = text.into();
        if let Some((end, _)) = text.char_indices().nth(TEXT) {
            text.truncate(end);
            text.push('…');
        }
        Self { kind, object: object.to_owned(), text, by: None, tone }
    }

    pub(crate) fn by(self, manager: Option<&str>) -> Self {
        Self { by: manager.map(Into::into), ..self }
    }
}
