//! Information that several pages show.

use jiff::Timestamp;

/// Information about the component.
#[derive(Clone, Debug)]
pub struct ComponentInfo {
    /// The name, such as `kube-controller-manager`.
    pub component: String,
    /// Start time of the process.
    pub started: Timestamp,
    /// The compiler. Upstream's pages show the version of Go here.
    pub go_version: String,
    /// The version of the component, such as `1.36.3`.
    pub binary_version: String,
    /// The version of Kubernetes that the component emulates, such as `1.36`.
    pub emulation_version: String,
}
