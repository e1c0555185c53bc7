//! The Lease on the API server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::time::timeout;
use kube_api::{ApiClient, ApiError};
use kube_protobuf::Message;

use super::claim::Hold;

/// The name with which a process contends; unique among all processes, past and future.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(Arc<str>);

impl Identity {
    /// The host name and a random number of 128 bits.
    pub fn unique(hostname: &str) -> Self {
        Self(format!("{hostname}_{:032x}", fastrand::u128(..)).into())
    }

    /// An identity of this host: its name, which upstream asks the kernel for too, and such a number. Where the kernel is not
    /// Linux, the name of the program.
    pub fn of_this_host(program: &str) -> Self {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self::unique(if name.trim().is_empty() { program } else { name.trim() })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A Lease by name, with the client for its requests. Displayed as `namespace/name`.
#[derive(Clone)]
pub struct LeaseLock {
    client: ApiClient,
    namespace: String,
    name: String,
    hold: Option<Hold>,
}

impl LeaseLock {
    /// A lock on a Lease, which need not exist.
    ///
    /// The client should have no rate limit and connections of its own, so that an election never waits for other
    /// requests, and must not be fenced by [`Leadership`](kube_api::Leadership). It needs to get, create and update
    /// this Lease.
    pub fn new(client: ApiClient, namespace: &str, name: &str) -> Self {
        Self { client, namespace: namespace.to_owned(), name: name.to_owned(), hold: None }
    }

    /// The same lock, which is not acquired while a hold by these annotations is in force.
    #[must_use]
    pub fn with_hold(self, hold: Hold) -> Self {
        Self { hold: Some(hold), ..self }
    }

    pub(super) fn hold(&self) -> Option<Hold> {
        self.hold
    }

    /// The command that releases a hold.
    pub(super) fn release_command(&self) -> String {
        let released = self.hold.map_or("", |hold| hold.released);
        format!("kubectl -n {} annotate lease {} {released}=\"$USER\"", self.namespace, self.name)
    }

    /// The name of the Lease.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the Lease; `None` if it does not exist.
    pub(super) async fn get(&self, limit: Duration) -> Result<Option<Lease>, ApiError> {
        match self.within(limit, self.client.get(&self.path())).await {
            Ok(lease) => Ok(Some(lease)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a new record, if the Lease has not changed since `known`; creates the Lease if none is known.
    pub(super) async fn put(
        &self,
        known: Option<&Lease>,
        spec: LeaseSpec,
        limit: Duration,
    ) -> Result<Lease, ApiError> {
        let spec = Some(spec);
        if let Some(known) = known {
            let lease = Lease { metadata: known.metadata.clone(), spec };
            return self.within(limit, self.client.update(&self.path(), &lease)).await;
        }
        let metadata = ObjectMeta {
            namespace: Some(self.namespace.clone()),
            name: Some(self.name.clone()),
            ..ObjectMeta::default()
        };
        let lease = Lease { metadata, spec };
        self.within(limit, self.client.create(&self.collection(), &lease)).await
    }

    /// Bounds a request, retries included, and checks the response with the version guard.
    async fn within(
        &self,
        limit: Duration,
        request: impl Future<Output = Result<Lease, ApiError>>,
    ) -> Result<Lease, ApiError> {
        let baseline = self.client.version_guard().baseline(&self.path());
        let answer = timeout(limit, request).await.unwrap_or(Err(ApiError::Timeout(limit)));
        if let Ok(lease) = &answer {
            let version = lease.metadata.resource_version.as_deref().unwrap_or_default();
            self.client.version_guard().check_read(&baseline, version);
        }
        answer
    }

    /// The reference to the Lease for events.
    pub(super) fn reference(&self, known: Option<&Lease>) -> ObjectReference {
        let metadata = known.map(|lease| &lease.metadata);
        ObjectReference {
            api_version: Some(Lease::API_VERSION.to_owned()),
            kind: Some(Lease::KIND.to_owned()),
            namespace: Some(self.namespace.clone()),
            name: Some(self.name.clone()),
            uid: metadata.and_then(|metadata| metadata.uid.clone()),
            resource_version: metadata.and_then(|metadata| metadata.resource_version.clone()),
            ..ObjectReference::default()
        }
    }

    fn collection(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.name)
    }
}

impl fmt::Display for LeaseLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
