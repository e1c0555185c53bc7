//! Ports of containers, and the target ports of Services that lead to them.

use std::sync::Arc;

/// A container port that can be referred to by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedPort {
    /// The name.
    pub name: Arc<str>,
    /// The protocol; `TCP` if the pod has none.
    pub protocol: Arc<str>,
    /// The port number.
    pub number: i32,
}

/// One port of a Service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServicePort {
    /// The name; may be empty if it is the only port.
    pub name: Arc<str>,
    /// The protocol; `TCP` if the Service has none.
    pub protocol: Arc<str>,
    /// The port of the Service itself.
    pub port: i32,
    /// The port of the pod.
    pub target: TargetPort,
    /// `appProtocol`, copied unchanged (KEP-1507).
    pub app_protocol: Option<Arc<str>>,
}

/// `targetPort` of a Service port. `Name` is shared text in a [`Service`](super::Service), and borrowed text in
/// [`PortFields`](super::PortFields).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetPort<Name = Arc<str>> {
    /// A number.
    Number(i32),
    /// The name of a container port.
    Name(Name),
}

impl<Name> Default for TargetPort<Name> {
    /// Number 0, as for an absent target port.
    fn default() -> Self {
        Self::Number(0)
    }
}
