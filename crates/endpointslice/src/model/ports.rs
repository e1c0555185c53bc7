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

/// `targetPort` of a Service port. `Name` is shared text in a [`Service`](super::Service), and borrowed text in
/// [`PortFields`](super::PortFields).
#[derive(Clone, Debug, PartialEq, Eq)]
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
