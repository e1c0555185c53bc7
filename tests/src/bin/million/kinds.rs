//! The five kinds that the program caches.

use crate::published::{encode_endpoints, encode_slice, endpoints, slice};
use crate::samples::Samples;
use crate::world::{World, first_version};

/// A kind, and the index of its watchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pods,
    Services,
    Nodes,
    Slices,
    Endpoints,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Pods, Self::Services, Self::Nodes, Self::Slices, Self::Endpoints];

    /// The kind of the resource with this name in a path.
    pub(crate) fn of(resource: &str) -> Option<Self> {
        match resource {
            "pods" => Some(Self::Pods),
            "services" => Some(Self::Services),
            "nodes" => Some(Self::Nodes),
            "endpointslices" => Some(Self::Slices),
            "endpoints" => Some(Self::Endpoints),
            _ => None,
        }
    }

    /// Its group and version, and its kind, as envelopes name them.
    pub(crate) fn types(self) -> (&'static str, &'static str) {
        match self {
            Self::Pods => ("v1", "Pod"),
            Self::Services => ("v1", "Service"),
            Self::Nodes => ("v1", "Node"),
            Self::Slices => ("discovery.k8s.io/v1", "EndpointSlice"),
            Self::Endpoints => ("v1", "Endpoints"),
        }
    }
}

/// All objects at the start, made when they are needed.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) world: World,
    pub(crate) samples: Samples,
}

impl Objects {
    pub(crate) fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Pods => self.world.pods,
            Kind::Nodes => self.world.nodes,
            Kind::Services | Kind::Slices | Kind::Endpoints => self.world.services,
        }
    }

    /// Appends the message of an object.
    ///
    /// Cost: less than a microsecond for what is a template, about fifty for slices and Endpoints.
    pub(crate) fn encode(&self, kind: Kind, index: usize, out: &mut Vec<u8>) {
        let Self { world, samples } = self;
        match kind {
            Kind::Pods => samples.pod(world, index, true, first_version(index), out),
            Kind::Services => samples.service(world, index, out),
            Kind::Nodes => samples.node(index, out),
            Kind::Slices => out.extend(encode_slice(&slice(world, samples, index))),
            Kind::Endpoints => out.extend(encode_endpoints(&endpoints(world, samples, index))),
        }
    }
}
