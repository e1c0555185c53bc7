//! Names in instructions for the operator.

/// The names in instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The Lease of ours, as `namespace/name`.
    pub(super) lease: String,
    /// The Deployment of ours, as `namespace/name`.
    pub(super) deployment: String,
}
