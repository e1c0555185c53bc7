//! The objects of a cluster, by lists.

use std::cell::RefCell;
use std::sync::Once;
use std::time::Duration;

use endpoint_controller_manager::version;
use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::snapshot::Kind;
use futures::future::join_all;
use jiff::Timestamp;
use kube_api::{ApiClient, ApiError, Encoding, connect, error_chain, load_user_kubeconfig};
use tokio::time::timeout;

use crate::exit::{self, Failure};
use crate::flags::{ClusterFlags, Target};
use crate::live::{Part, Resource, Selection, each};
use crate::name::NAME;
use crate::warnings;

/// One note, however often a command reads.
static NOTED: Once = Once::new();

/// A cluster, and the namespace to read in it.
pub(crate) struct Cluster {
    pub(crate) client: ApiClient,
    /// The client below it, for requests of other forms.
    http: kube::Client,
    /// The user that all requests impersonate.
    pub(crate) impersonates: Option<String>,
    /// The address of the API server.
    pub(crate) server: String,
    /// None for all.
    pub(crate) namespace: Option<String>,
    /// The longest wait for a list.
    timeout: Option<Duration>,
}

impl Cluster {
    /// Reads the kubeconfig for a subcommand of this name. Nothing is sent yet.
    ///
    /// # Errors
    /// A line about the kubeconfig.
    pub(crate) async fn of(target: &Target, name: &str) -> Result<Self, Failure> {
        warnings::print();
        let ClusterFlags { kubeconfig, context, request_timeout, .. } = &target.cluster;
        let loaded = load_user_kubeconfig(kubeconfig.as_deref(), context.as_deref()).await;
        let mut config = loaded.map_err(|error| Failure::Input(error_chain(&error)))?;
        target.cluster.impersonate(&mut config.auth_info);
        let http = connect(&config).map_err(|error| Failure::Access(error_chain(&error)))?;
        let given = target.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let namespace = (!target.all_namespaces).then_some(given);
        let timeout = request_timeout.filter(|timeout| !timeout.is_zero());
        let impersonates = config.auth_info.impersonate.take();
        Ok(Self { impersonates, timeout, ..Self::new(http, config.cluster_url.to_string(), namespace, name) })
    }

    /// The same over a client.
    pub(crate) fn new(http: kube::Client, server: String, namespace: Option<String>, name: &str) -> Self {
        let user_agent = version::user_agent(NAME, name);
        let client = ApiClient::new(http.clone(), Encoding::Json, &user_agent);
        Self { client, http, impersonates: None, server, namespace, timeout: None }
    }

    /// The same of an API server in memory.
    #[cfg(test)]
    pub(crate) fn in_memory(server: &embedded_apiserver::ApiServer) -> Self {
        Self::new(kube::Client::new(server.clone(), "default"), "a test".to_owned(), None, "test")
    }

    /// A client for requests that are not lists.
    pub(crate) fn http(&self) -> &kube::Client {
        &self.http
    }

    /// Reads all objects once. Nodes, Namespaces and Endpoints are left out if the caller may not list them. ResourceClaims are read
    /// if a Service depends on them; if they cannot be listed, a line on stderr says so.
    ///
    /// # Errors
    /// A line about the first kind that cannot be listed.
    pub(crate) async fn read(&self) -> Result<Snapshot, Failure> {
        self.read_to_watch().await.map(|(snapshot, _)| snapshot)
    }

    /// The same, with the resources that were read, and the versions from which their watches continue.
    pub(crate) async fn read_to_watch(&self) -> Result<(Snapshot, Vec<(Resource, String)>), Failure> {
        let all = |kind| (Resource { kind, namespace: self.namespace.clone() }, Selection::All);
        let mut snapshot = Snapshot::new(Timestamp::now(), Kind::ALL);
        if self.namespace.is_some() {
            snapshot.set_of_namespace();
        }
        let mut versions = self.add_lists(&mut snapshot, Kind::ALWAYS.map(all).into()).await?;
        if snapshot.needs_claims() {
            match self.add_lists(&mut snapshot, vec![all(Kind::ResourceClaims)]).await {
                Ok(claims) => versions.extend(claims),
                Err(failure) => NOTED.call_once(|| {
                    exit::note(&format!(
                        "Note: Services on pod networks are not compared: {}",
                        failure.line()
                    ));
                }),
            }
        }
        Ok((snapshot, versions))
    }

    /// Reads a Service, its Endpoints and its slices, as the API server has them now.
    ///
    /// # Errors
    /// A line about the first kind that cannot be listed.
    pub(crate) async fn read_service(&self, namespace: &str, name: &str) -> Result<Snapshot, Failure> {
        let wanted = [
            (Kind::Services, Selection::Named(name.to_owned())),
            (Kind::Endpoints, Selection::Named(name.to_owned())),
            (Kind::EndpointSlices, Selection::OfService(name.to_owned())),
        ];
        let resource = |kind| Resource { kind, namespace: Some(namespace.to_owned()) };
        let wanted = wanted.map(|(kind, selection)| (resource(kind), selection)).into();
        let mut snapshot = Snapshot::new(Timestamp::now(), Kind::ALL);
        self.add_lists(&mut snapshot, wanted).await?;
        Ok(snapshot)
    }

    /// Reads Services and slices, and nothing else.
    ///
    /// # Errors
    /// A line about the first kind that cannot be listed.
    pub(crate) async fn read_slices(&self) -> Result<Snapshot, Failure> {
        let all = |kind| (Resource { kind, namespace: self.namespace.clone() }, Selection::All);
        let mut snapshot = Snapshot::new(Timestamp::now(), Kind::ALL);
        self.add_lists(&mut snapshot, [Kind::Services, Kind::EndpointSlices].map(all).into()).await?;
        Ok(snapshot)
    }

    /// Adds what the caller may list to a snapshot. Returns the resources that were listed, with their versions.
    async fn add_lists(
        &self,
        snapshot: &mut Snapshot,
        wanted: Vec<(Resource, Selection)>,
    ) -> Result<Vec<(Resource, String)>, Failure> {
        let filled = RefCell::new(&mut *snapshot);
        let requests = wanted.iter().map(async |(resource, selection)| {
            // Object by object: a snapshot keeps less of them than a list.
            let request = each(&self.client, resource, selection, |part| {
                let mut snapshot = filled.borrow_mut();
                snapshot.set_readable(resource.kind);
                match part {
                    Part::Object(json) => {
                        resource.readable(json).into_iter().for_each(|object| snapshot.upsert(object));
                    }
                    Part::Restart => snapshot.replace(resource.kind, vec![]),
                }
            });
            match self.timeout {
                None => request.await,
                Some(limit) => timeout(limit, request).await.unwrap_or(Err(ApiError::Timeout(limit))),
            }
        });
        let listed = join_all(requests).await;
        let mut versions = vec![];
        for ((resource, _), listed) in wanted.into_iter().zip(listed) {
            match listed {
                Ok(version) => {
                    snapshot.set_readable(resource.kind);
                    versions.push((resource, version));
                }
                Err(error) if resource.is_optional() && error.is_forbidden() => {}
                Err(error) => return Err(self.unlisted(&resource, &error)),
            }
        }
        snapshot.set_now(Timestamp::now());
        Ok(versions)
    }

    fn unlisted(&self, resource: &Resource, error: &ApiError) -> Failure {
        let (kind, server, reason) = (resource.kind.resource(), &self.server, error_chain(error));
        let advice = match error {
            error if error.is_forbidden() && self.namespace.is_none() => {
                "; with -n NAMESPACE, permissions in that namespace are enough"
            }
            error if error.is_forbidden() => "; this needs permission to list it",
            ApiError::Refused(status) if status.code == 401 => {
                "; the credentials of the kubeconfig are not valid"
            }
            _ => "",
        };
        Failure::Access(format!("cannot list {kind} of {server}: {reason}{advice}"))
    }
}
