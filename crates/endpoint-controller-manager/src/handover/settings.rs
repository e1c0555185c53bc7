//! Names in instructions for the operator.

/// The names in instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The manifest of kube-controller-manager on a control-plane node.
    pub(super) manifest: String,
    /// The manifest of ours, as a static pod.
    pub(super) own_manifest: String,
    /// The Lease of ours, as `namespace/name`.
    pub(super) lease: String,
    /// The Deployment of ours, as `namespace/name`.
    pub(super) deployment: String,
}
