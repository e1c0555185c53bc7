//! The options of a server.

use std::collections::VecDeque;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use super::{ApiServer, first};
use crate::audit::{AuditEvent, Auditor};
use crate::core::{Behaviour, Core, resources};
use crate::environment::{Environment, SystemEnvironment};
use crate::kinds::{Allocators, Network, Ranges};
use crate::owners::Owners;
use crate::snapshot::SnapshotError;
use crate::store::{Store, StoreOptions};
use crate::users::Users;

/// The options of a server.
pub struct Builder {
    service_ranges: Vec<String>,
    node_ports: RangeInclusive<u16>,
    history: StoreOptions,
    environment: Arc<dyn Environment>,
    first_objects: bool,
    behaviour: Behaviour,
    snapshot: Option<String>,
    auditor: Option<Box<Auditor>>,
    users: Users,
}

/// The options do not make a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A range of cluster IPs is unusable.
    #[error("service range {0:?} is no network: give one such as 10.96.0.0/16, or one of each family")]
    ServiceRange(String),
    /// The snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            service_ranges: vec!["10.96.0.0/16".to_owned(), "fd00:96::/112".to_owned()],
            node_ports: 30000..=32767,
            history: StoreOptions::default(),
            environment: Arc::new(SystemEnvironment::default()),
            first_objects: true,
            behaviour: Behaviour {
                collects_garbage: true,
                terminates_namespaces: true,
                deletes_endpoints: false,
            },
            snapshot: None,
            auditor: None,
            users: Users::default(),
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Builder")
            .field("service_ranges", &self.service_ranges)
            .field("node_ports", &self.node_ports)
            .field("history", &self.history)
            .field("first_objects", &self.first_objects)
            .finish_non_exhaustive()
    }
}

impl ApiServer {
    /// A server with the default options.
    pub fn new() -> Self {
        Builder::default().build().unwrap_or_else(|_| unreachable!("the default options are valid"))
    }

    /// The options of a server.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Default for ApiServer {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// Sets the networks of cluster IPs: one, or one of each family. The family of the first is the default of Services.
    /// Without this, `10.96.0.0/16` and `fd00:96::/112`.
    #[must_use]
    pub fn service_ranges<T: Into<String>>(mut self, ranges: impl IntoIterator<Item = T>) -> Self {
        self.service_ranges = ranges.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the ports that Services of type `NodePort` get. Without this, 30000 to 32767.
    #[must_use]
    pub fn node_ports(mut self, ports: RangeInclusive<u16>) -> Self {
        self.node_ports = ports;
        self
    }

    /// Bounds the history that lists at older versions and resumed watches need.
    #[must_use]
    pub fn history(mut self, bounds: StoreOptions) -> Self {
        self.history = bounds;
        self
    }

    /// Sets where times and random numbers come from. Without this, the system.
    #[must_use]
    pub fn environment(mut self, environment: impl Environment) -> Self {
        self.environment = Arc::new(environment);
        self
    }

    /// Sets whether the server begins with the objects that kube-apiserver makes at its start: the namespaces `default`,
    /// `kube-node-lease`, `kube-public`, `kube-system`, and the Service `default/kubernetes`. Without this, it does.
    #[must_use]
    pub fn first_objects(mut self, wanted: bool) -> Self {
        self.first_objects = wanted;
        self
    }

    /// Sets whether the server does the garbage collector's work. In a cluster kube-controller-manager does it: a server
    /// that is compared with a lone kube-apiserver must not. Without this, it does.
    #[must_use]
    pub fn garbage_collection(mut self, wanted: bool) -> Self {
        self.behaviour.collects_garbage = wanted;
        self
    }

    /// Sets whether the server empties deleted namespaces, as kube-controller-manager does in a cluster. Without this, it
    /// does.
    #[must_use]
    pub fn namespace_termination(mut self, wanted: bool) -> Self {
        self.behaviour.terminates_namespaces = wanted;
        self
    }

    /// Sets whether the server deletes the Endpoints of a deleted Service in the same request, as kube-apiserver did until
    /// 1.36. Without this, it does not: since 1.37 only the controller of Endpoints does.
    #[must_use]
    pub fn deletion_of_endpoints(mut self, wanted: bool) -> Self {
        self.behaviour.deletes_endpoints = wanted;
        self
    }

    /// Calls `auditor` with an event of each request for objects, when its answer begins. Without this, nothing is recorded.
    #[must_use]
    pub fn audit(mut self, auditor: impl Fn(&AuditEvent) + Send + Sync + 'static) -> Self {
        self.auditor = Some(Box::new(auditor));
        self
    }

    /// Names the user of requests with the header `Authorization: Bearer TOKEN`. Without [`require_token`](Self::require_token)
    /// no request is refused: users matter to the audit, and to reviews of tokens, which then know no other tokens than these
    /// and those of service accounts.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>, user: impl Into<String>) -> Self {
        self.users.add(token.into(), user.into());
        self
    }

    /// Refuses requests that come over the network ([`ApiServer::serve`]) without the token of a user, with 401. Probes
    /// (`/healthz`, `/livez`, `/readyz`) are answered, and so are requests in this process. Tokens of service accounts don't
    /// count: they are not signed. Without this, every client may do everything.
    #[must_use]
    pub fn require_token(mut self) -> Self {
        self.users.is_token_required = true;
        self
    }

    /// Begins with the state of a [snapshot](ApiServer::snapshot) and without the first objects.
    #[must_use]
    pub fn snapshot(mut self, yaml: impl Into<String>) -> Self {
        self.snapshot = Some(yaml.into());
        self
    }

    /// Makes the server.
    ///
    /// # Errors
    /// A range is no network, or the snapshot cannot be read.
    pub fn build(self) -> Result<ApiServer, BuildError> {
        let networks = self
            .service_ranges
            .iter()
            .map(|range| Network::parse(range).ok_or_else(|| BuildError::ServiceRange(range.clone())));
        let services = networks.collect::<Result<Vec<_>, _>>()?;
        if services.is_empty() || services.len() > 2 {
            return Err(BuildError::ServiceRange(self.service_ranges.join(",")));
        }
        let store = match &self.snapshot {
            Some(yaml) => super::access::restore(yaml, self.history)?,
            None => Store::new(resources(), self.history),
        };
        let allocators = Arc::new(Allocators::new(Ranges { services, node_ports: self.node_ports }));
        let core = Core {
            store: Arc::new(store),
            environment: self.environment,
            allocators,
            behaviour: self.behaviour,
            owners: Owners::default(),
            auditor: self.auditor,
            users: self.users,
            happened: Mutex::new(VecDeque::new()),
            reacting: Mutex::new(()),
            requests: AtomicU64::new(0),
        };
        let server = ApiServer { core: Arc::new(core) };
        if self.snapshot.is_some() {
            super::access::adopt(&server.core);
        } else if self.first_objects {
            first::create(&server.core);
        }
        Ok(server)
    }
}
