//! What the sync of one Service reads, and why it must be tried again: the same for every controller of slices.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use endpointslice::desired::{Skipped, SkippedReason};
use endpointslice::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::DecodeError;

use crate::cache::{
    Cached as _, CachedSlice, ObjectKey, SelectedPods, State, UnreadableAround, UnreadableObject,
};
use crate::own_slices::{OwnSlices, StaleCache, decode_all};
use crate::slice_writer::Failed;
use crate::summary;
use controller_kit::queue::{Cause, FailureReason};
use controller_kit::write::WriteError;
use kube_api::error_chain;

/// What the sync of a Service has copied from the cache while it was locked, to be [put in order](Self::in_order) without
/// the lock.
#[derive(Debug)]
#[must_use]
pub struct Unsorted {
    service: Arc<Service>,
    pods: SelectedPods,
    nodes: Vec<Arc<Node>>,
    slices: Vec<Arc<CachedSlice>>,
    unreadable: Option<UnreadableAround>,
}

/// A Service, what it selects, and the slices that one controller made of it: everything of the same moment.
#[derive(Debug)]
pub struct Snapshot {
    /// The Service.
    pub service: Arc<Service>,
    pods: Vec<Arc<Pod>>,
    nodes: HashMap<Arc<str>, Arc<Node>>,
    slices: Vec<Arc<CachedSlice>>,
    unreadable: Option<UnreadableAround>,
}

impl Snapshot {
    /// Reads the cache by the Service's name; `None` if it is gone. What is known of its slices is forgotten then; the
    /// garbage collector removes them. Cost and failure as for [`Self::of`].
    pub fn read(
        key: &ObjectKey,
        own_slices: &OwnSlices,
        state: &State,
    ) -> Result<Option<Unsorted>, StaleCache> {
        let Some(service) = state.services.get(&key.namespace, &key.name) else {
            own_slices.forget(key);
            return Ok(None);
        };
        Self::of(service, own_slices, state).map(Some)
    }

    /// Reads what belongs to a Service. One without a selector selects no pods.
    ///
    /// Fails if the cache is behind our own writes. Cost: a copied pointer for each pod found and for the nodes around
    /// them; a few milliseconds for 50,000 pods.
    pub fn of(service: &Arc<Service>, own_slices: &OwnSlices, state: &State) -> Result<Unsorted, StaleCache> {
        let slices = own_slices.read(&service.key(), state)?;
        let selector = service.selector.as_ref();
        let pods =
            selector.map(|selector| state.pods_selected(&service.namespace, selector)).unwrap_or_default();
        let nodes = state.nodes_around(&pods);
        let unreadable = state.unreadable_around(&service.namespace);
        Ok(Unsorted { service: Arc::clone(service), pods, nodes, slices, unreadable })
    }

    /// The pods that the Service selects, in order of their names.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.iter().map(|pod| &**pod)
    }

    /// The Node of one of the pods.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name).map(|node| &**node)
    }

    /// The controller's slices that are not being deleted. Cost: about a microsecond for each endpoint.
    ///
    /// Fails if one can't be read, or if an endpoint stands for a pod, or on a Node, that exists and could not be read:
    /// to plan from here would remove the endpoint.
    pub fn existing(&self) -> Result<Vec<EndpointSlice>, SyncError> {
        let existing = decode_all(&self.slices)?;
        if let Some(unreadable) = &self.unreadable {
            self.check_unreadable(unreadable, &existing)?;
        }
        Ok(existing)
    }

    fn check_unreadable(
        &self,
        unreadable: &UnreadableAround,
        existing: &[EndpointSlice],
    ) -> Result<(), UnreadableObject> {
        let mut published = HashSet::new();
        for endpoint in existing.iter().flat_map(|slice| slice.endpoints.iter().flatten()) {
            let target = endpoint.target_ref.as_ref().filter(|target| target.kind.as_deref() == Some("Pod"));
            if let Some(name) = target.and_then(|target| target.name.as_deref()) {
                unreadable.check_pod(name)?;
                published.insert(name);
            }
        }
        let published = self.pods().filter(|pod| published.contains(&*pod.name));
        let mut nodes = published.filter_map(|pod| pod.node_name.as_deref());
        nodes.try_for_each(|name| self.node(name).map_or_else(|| unreadable.check_node(name), |_| Ok(())))
    }
}

impl Unsorted {
    /// Puts it in order. Cost: a sort of the pods, and a map of the nodes.
    pub fn in_order(self) -> Snapshot {
        let Self { service, pods, nodes, slices, unreadable } = self;
        let nodes = nodes.into_iter().map(|node| (Arc::clone(&node.name), node)).collect();
        Snapshot { service, pods: pods.sorted(), nodes, slices, unreadable }
    }
}

/// A sync that must be tried again.
#[derive(Debug)]
pub enum SyncError {
    /// The cache does not show our own last writes yet.
    StaleCache,
    /// Writes failed; all of them are listed.
    Write(Vec<WriteError>),
    /// An object in the cache could not be read.
    Unreadable(DecodeError),
    /// An object that this depends on is not in the cache because it could not be read.
    Missing(UnreadableObject),
    /// Endpoints were left out; everything else was written.
    Skipped(Vec<Skipped>),
}

impl SyncError {
    /// Fails if something was left out that [may come](may_come), which is worth another try.
    pub fn unless_complete(skipped: &[Skipped]) -> Result<(), Self> {
        let missing: Vec<Skipped> = skipped.iter().filter(|skipped| may_come(skipped)).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(Self::Skipped(missing)) }
    }
}

/// A missing node may come; an address that isn't allowed never will be.
pub fn may_come(skipped: &Skipped) -> bool {
    matches!(skipped.reason, SkippedReason::NodeNotFound(_))
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleCache => StaleCache.fmt(f),
            Self::Unreadable(error) => write!(f, "unreadable object in the cache: {error}"),
            Self::Missing(object) => object.fmt(f),
            Self::Write(errors) => f.write_str(&summary(errors.iter().map(|error| error_chain(error)))),
            Self::Skipped(skipped) => f.write_str(&summary(skipped.iter().map(describe))),
        }
    }
}

fn describe(skipped: &Skipped) -> String {
    match &skipped.reason {
        SkippedReason::NodeNotFound(node) => {
            format!("skipping Pod {}: Node {node:?} not found", skipped.name)
        }
        SkippedReason::AddressNotAllowed(address) => format!("skipping {address} of Pod {}", skipped.name),
    }
}

impl std::error::Error for SyncError {}

impl controller_kit::worker::SyncError for SyncError {
    fn causes(&self) -> Vec<Cause> {
        match self {
            Self::StaleCache => vec![Cause::StaleCache],
            Self::Write(errors) => errors.iter().map(WriteError::cause).collect(),
            Self::Unreadable(_) | Self::Missing(_) => vec![Cause::FAILURE],
            // Other pods on nodes that are missing are another failure.
            Self::Skipped(_) => {
                let mut hasher = DefaultHasher::new();
                self.to_string().hash(&mut hasher);
                vec![Cause::Failure { fingerprint: hasher.finish(), reason: FailureReason::Other }]
            }
        }
    }
}

impl From<StaleCache> for SyncError {
    fn from(StaleCache: StaleCache) -> Self {
        Self::StaleCache
    }
}

impl From<Failed> for SyncError {
    fn from(failed: Failed) -> Self {
        Self::Write(failed.writes)
    }
}

impl From<DecodeError> for SyncError {
    fn from(error: DecodeError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<UnreadableObject> for SyncError {
    fn from(object: UnreadableObject) -> Self {
        Self::Missing(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use controller_kit::worker::SyncError as _;

    #[test]
    fn only_what_may_come_is_tried_again() {
        let node = Skipped { name: "web-1".into(), reason: SkippedReason::NodeNotFound("n1".into()) };
        let loopback = std::net::Ipv4Addr::LOCALHOST.into();
        let address = Skipped { name: "web-2".into(), reason: SkippedReason::AddressNotAllowed(loopback) };
        assert!(SyncError::unless_complete(&[]).is_ok());
        assert!(SyncError::unless_complete(std::slice::from_ref(&address)).is_ok());
        let error = SyncError::unless_complete(&[address, node]).unwrap_err();
        assert_eq!(error.to_string(), "skipping Pod web-1: Node \"n1\" not found");
        assert!(!error.is_transient() && SyncError::from(StaleCache).is_transient());
    }
}
