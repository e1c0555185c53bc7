//! Reported events.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

/// `type` of a Kubernetes Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// Information.
    Normal,
    /// A problem.
    Warning,
}

impl EventType {
    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An event as it was reported.
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    pub(super) object: ObjectReference,
    pub(super) event_type: EventType,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) at: Timestamp,
}

/// The longest message, in bytes: the limit of `events.k8s.io/v1` for its note.
pub const MAX_MESSAGE: usize = 1024;

/// Cuts the message to [`MAX_MESSAGE`].
pub(super) fn cut(mut message: String) -> String {
    const MORE: &str = "...";
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE - MORE.len()));
        message.push_str(MORE);
    }
    message
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_message_is_longer_than_a_kibibyte(text in "\\PC{0,600}") {
            let whole = text.clone();
            let cut = cut(text);
            prop_assert!(cut.len() <= MAX_MESSAGE);
            prop_assert!(cut == whole || whole.starts_with(cut.strip_suffix("...").unwrap()));
        }
    }
}
