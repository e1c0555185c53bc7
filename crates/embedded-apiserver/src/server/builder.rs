//! The options of a server.

use std::collections::VecDeque;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{ApiServer, first};
use crate::audit::{AuditEvent, Auditor};
use crate::core::{Behaviour, Core, resources};
use crate::environment::{Environment, SystemEnvironment};
use crate::kinds::{Allocators, Ranges};
use crate::owners::Owners;
use crate::store::{Store, StoreOptions};
use crate::users::Users;

/// The options of a server.
pub struct Builder {
    node_ports: RangeInclusive<u16>,
    environment: Arc<dyn Environment>,
    first_objects: bool,
    behaviour: Behaviour,
    auditor: Option<Box<Auditor>>,
    users: Users,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            node_ports: 30000..=32767,
            environment: Arc::new(SystemEnvironment::default()),
            first_objects: true,
            behaviour: Behaviour {
                collects_garbage: true,
                terminates_namespaces: true,
                deletes_endpoints: false,
            },
            auditor: None,
            users: Users::default(),
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Builder")
            .field("node_ports", &self.node_ports)
            .field("first_objects", &self.first_objects)
            .finish_non_exhaustive()
    }
}

impl ApiServer {
    /// A server with the default options.
    pub fn new() -> Self {
        Builder::default().build()
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
    /// Sets the ports that Services of type `NodePort` get. Without this, 30000 to 32767.
    #[must_use]
    pub fn node_ports(mut self, ports: RangeInclusive<u16>) -> Self {
        self.node_ports = ports;
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

    /// Calls `auditor` with an event of each request for objects, when its response begins. Without this, nothing is recorded.
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

    /// Makes the server.
    pub fn build(self) -> ApiServer {
        let ranges = Ranges { node_ports: self.node_ports, ..Ranges::default() };
        let core = Core {
            store: Arc::new(Store::new(resources(), StoreOptions::default())),
            environment: self.environment,
            allocators: Arc::new(Allocators::new(ranges)),
            behaviour: self.behaviour,
            owners: Owners::default(),
            auditor: self.auditor,
            users: self.users,
            happened: Mutex::new(VecDeque::new()),
            cascading: Mutex::new(()),
        };
        let server = ApiServer { core: Arc::new(core) };
        if self.first_objects {
            first::create(&server.core);
        }
        server
    }
}
