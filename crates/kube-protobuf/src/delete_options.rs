//! The body of a delete request.

use crate::writer::Writer;

/// Options of a delete request: `meta.v1.DeleteOptions` of `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`.
///
/// Only written. [`wrap`](crate::wrap) it as kind `DeleteOptions` of `v1`, as a core object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Grace period in seconds; `Some(0)` removes the object at once.
    pub grace_period_seconds: Option<i64>,
    /// Precondition on the uid: 409 if it differs.
    pub uid: Option<String>,
    /// Precondition on the resourceVersion: 409 if it differs.
    pub resource_version: Option<String>,
    /// Treatment of dependents: `Orphan`, `Background` or `Foreground`.
    pub propagation_policy: Option<String>,
    /// `All` for a dry run; empty to delete the object.
    pub dry_run: Vec<String>,
}

impl DeleteOptions {
    /// Returns the message without envelope, byte for byte as Go writes it.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        if let Some(seconds) = self.grace_period_seconds {
            writer.integer(1, seconds);
        }
        if self.uid.is_some() || self.resource_version.is_some() {
            let preconditions = writer.open(2);
            writer.optional_text(1, self.uid.as_deref());
            writer.optional_text(2, self.resource_version.as_deref());
            writer.close(preconditions);
        }
        writer.optional_text(4, self.propagation_policy.as_deref());
        for value in &self.dry_run {
            writer.text(5, value);
        }
        writer.finish()
    }
}
