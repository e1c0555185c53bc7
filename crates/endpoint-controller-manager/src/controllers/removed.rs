//! Controllers that supported releases of kube-controller-manager have and the newest one has not.

/// Their names and aliases, which kube-controller-manager refuses today. Here `--controllers` accepts them without effect, so
/// that the list of an older release can be copied.
pub(super) const REMOVED: &[&str] = &[
    "cloud-node-lifecycle-controller",
    "cloud-node-lifecycle",
    "node-route-controller",
    "route",
    "service-lb-controller",
    "service",
];
