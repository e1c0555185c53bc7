//! Sources of the addresses that pods have in networks.

use std::net::IpAddr;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::{State, UnreadableObject};
use endpoint_informers::custom::CustomChange;
use endpoint_informers::list_watch::Informers;
use endpointslice::desired::Attachment;
use endpointslice::{Pod, Service};

/// A place in which addresses of pods are found.
pub trait Source: Send + Sync + 'static {
    /// The annotations of Services and pods that are read. Others are not cached: a source finds none of them.
    fn annotations(&self) -> &'static [&'static str] {
        &[]
    }

    /// Starts list-watches of what the addresses depend on besides Services, pods and nodes.
    fn start_informers(&self, _informers: &mut Informers) {}

    /// The Services whose addresses depend on such an object, before its change or after it. Called with the cache locked.
    fn affected_by(&self, _change: CustomChange<'_>, _state: &State) -> Vec<ObjectKey> {
        Vec::new()
    }

    /// Fails if an object that these addresses depend on exists and could not be read: the slices of the Service stay as they
    /// are. A source that reads nothing but Services, pods and nodes never fails.
    ///
    /// # Errors
    ///
    /// The first such object.
    fn check_readable(&self, service: &Service, state: &State) -> Result<(), UnreadableObject>;

    /// True if the Service names a network whose addresses are found here. Called with the cache locked.
    fn serves(&self, service: &Service) -> bool;

    /// The addresses of a pod in the network that the Service names, and whether they can be reached as far as the network
    /// knows.
    ///
    /// # Errors
    ///
    /// The pod has none. It is not published then, or no longer.
    fn attachment(
        &self,
        service: &Service,
        pod: &Pod,
        state: &State,
    ) -> Result<Attachment<Vec<IpAddr>>, Missing>;

    /// The network in which the addresses of a pod are, if the Service may mean several. Pods of one Service are published in one
    /// network only.
    fn network(&self, _service: &Service, _pod: &Pod, _state: &State) -> Option<String> {
        None
    }

    /// The device because of which an attachment is not ready, if this is known.
    fn unready(&self, _service: &Service, _pod: &Pod, _state: &State) -> Option<String> {
        None
    }
}

/// The reason for which a pod has no address in a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// Nothing says that the pod takes part in the network.
    #[error("not attached to the network")]
    NotAttached,
    /// No ResourceClaim is reserved for the pod.
    #[error("no ResourceClaim is reserved for it")]
    NoClaim,
    /// The device that attaches it has no address.
    #[error("device {0} has no address yet")]
    NoAddress(String),
    /// Devices of it are in several networks that the Service may mean.
    #[error(
        "its devices are in several such networks, {0} and {1}: label the Service with the kind and the namespace of one"
    )]
    Ambiguous(String, String),
    /// It has addresses that slices of the Service cannot have.
    #[error("{0}: of no IP family of the Service, or link-local, loopback or the like")]
    Unsuitable(String),
    /// The object that has its addresses is malformed.
    #[error("{0}")]
    Malformed(String),
}

impl Missing {
    /// With the beginning of a text that quotes the pod: who writes pods chooses its length.
    pub(crate) fn shortened(mut self) -> Self {
        if let Self::Unsuitable(text) | Self::Malformed(text) = &mut self {
            text.truncate(text.floor_char_boundary(200));
        }
        self
    }

    /// The reason of the Warning about the pod; none if its network is not misconfigured.
    pub(crate) fn event_reason(&self) -> Option<&'static str> {
        match self {
            Self::NotAttached | Self::NoClaim | Self::NoAddress(_) => None,
            Self::Ambiguous(..) => Some("AmbiguousNetwork"),
            Self::Unsuitable(_) => Some("UnsuitableAddress"),
            Self::Malformed(_) => Some("MalformedNetworkStatus"),
        }
    }
}
