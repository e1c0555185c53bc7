//! The cluster as numbers: every object follows from its index, so that none has to be kept.

use crate::options::Options;

/// The number of zones; a template has one digit for them.
const ZONES: usize = 3;

/// The counts of a cluster, and the relations of its objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World {
    pub(crate) pods: usize,
    pub(crate) pods_per_service: usize,
    pub(crate) services: usize,
    pub(crate) namespaces: usize,
    pub(crate) nodes: usize,
}

impl World {
    pub(crate) fn new(options: &Options) -> Self {
        let (pods, pods_per_service) = (options.pods as usize, options.pods_per_service as usize);
        let services = pods.div_ceil(pods_per_service);
        let namespaces = options.namespaces.map_or(services / 10, |namespaces| namespaces as usize);
        // 67 pods on a node: 15,000 nodes for a million.
        let nodes = options.nodes.map_or(pods * 15 / 1_000, |nodes| nodes as usize);
        Self { pods, pods_per_service, services, namespaces: namespaces.max(1), nodes: nodes.max(1) }
    }

    pub(crate) fn service_of(&self, pod: usize) -> usize {
        pod / self.pods_per_service
    }

    /// The indexes of the pods of a Service; the last one may have fewer.
    pub(crate) fn pods_of(&self, service: usize) -> std::ops::Range<usize> {
        let first = service * self.pods_per_service;
        first..self.pods.min(first + self.pods_per_service)
    }

    pub(crate) fn namespace_of(&self, service: usize) -> usize {
        service % self.namespaces
    }

    pub(crate) fn node_of(&self, pod: usize) -> usize {
        pod % self.nodes
    }

    pub(crate) fn namespace_name(&self, service: usize) -> String {
        format!("ns-{:05}", self.namespace_of(service))
    }

    /// The index of the pod of this name, which ends with its place among the pods of its Service.
    pub(crate) fn pod_named(&self, name: &str) -> Option<usize> {
        let service: usize = name.get(4..10)?.parse().ok()?;
        let place: usize = name.get(name.len().checked_sub(3)?..)?.parse().ok()?;
        let pod = service.checked_mul(self.pods_per_service)?.checked_add(place)?;
        (pod < self.pods && place < self.pods_per_service).then_some(pod)
    }
}

/// The zone of a node.
pub(crate) fn zone_of(node: usize) -> usize {
    node % ZONES
}

/// The name of a Service, its Endpoints, and the begin of the names of its pods and slices.
pub(crate) fn service_name(service: usize) -> String {
    format!("svc-{service:06}")
}

/// The resourceVersion of the objects that exist at the start; later ones are higher.
pub(crate) const LISTED_AT: u64 = 5_000_000;

/// The resourceVersion of an object that was never changed. All have seven digits.
pub(crate) fn first_version(index: usize) -> u64 {
    1_000_000 + index as u64
}
