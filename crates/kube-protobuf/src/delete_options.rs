//! The body of a deletion.

use crate::writer::Writer;

/// How to delete an object: `meta.v1.DeleteOptions` of `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`.
///
/// Written, never read. It is wrapped as kind `DeleteOptions` of `v1`, like every core object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Seconds until the object is removed; `Some(0)` means at once.
    pub grace_period_seconds: Option<i64>,
    /// Refuse (409) unless the object has this uid.
    pub uid: Option<String>,
    /// Refuse (409) unless the object has this resourceVersion.
    pub resource_version: Option<String>,
    /// What becomes of dependents: `Orphan`, `Background` or `Foreground`.
    pub propagation_policy: Option<String>,
    /// `All`, or nothing to really delete.
    pub dry_run: Vec<String>,
}

impl DeleteOptions {
    /// The message, without envelope. Byte for byte what Go writes.
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
