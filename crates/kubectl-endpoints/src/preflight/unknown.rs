//! Facts that could not be read.

/// The reason for not knowing a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) message: String,
    pub(super) remedy: String,
}

impl Unknown {
    /// The caller lacks permission to do this, such as `list pods`.
    pub(super) fn forbidden(action: &str) -> Self {
        let remedy = format!("Run this as a user who may {action}, or check it by hand");
        Self { message: format!("This needs permission to {action}"), remedy }
    }

    /// The API server did not do this for another reason.
    pub(super) fn failed(action: &str, reason: &str) -> Self {
        Self { message: format!("Cannot {action}: {reason}"), remedy: "Run this again".to_owned() }
    }
}

/// A fact, or the reason for not knowing it.
pub(super) type Fact<T> = Result<T, Unknown>;
