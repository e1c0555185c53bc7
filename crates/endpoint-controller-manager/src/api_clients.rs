//! The clients of this process: user agent, credentials, rate limit and metrics.

use std::sync::Arc;

use kube::config::AuthInfo;
use kube_api::version_guard::VersionGuard;
use kube_api::{ApiClient, ClientMetrics, ConnectError, Encoding, ServiceAccount, connect};
use prometheus_client::registry::Registry;

use crate::config::Config;
use crate::connection::ConnectionError;
use crate::controllers::Controller;
use crate::version;

/// The namespace of the controllers' service accounts (`k8s.io/controller-manager` `pkg/clientbuilder`).
const NAMESPACE: &str = "kube-system";

/// Makes a client with connections of its own.
pub type Connect = Arc<dyn Fn(&kube::Config) -> Result<kube::Client, ConnectError> + Send + Sync>;

/// User agent and metrics, which all clients of this process share.
#[derive(Clone)]
pub(crate) struct ClientIdentity {
    name: String,
    metrics: ClientMetrics,
}

impl ClientIdentity {
    /// The name is the first part of the user agent, and so the field manager in managedFields.
    pub(crate) fn new(config: &Config, registry: &mut Registry) -> Self {
        Self { name: config.user_agent_name.clone(), metrics: ClientMetrics::register(registry) }
    }

    /// A client without a rate limit, whose user agent ends in `part`.
    pub(crate) fn client(
        &self,
        connection: kube::Client,
        config: &kube::Config,
        encoding: Encoding,
        part: &str,
    ) -> ApiClient {
        let client = ApiClient::new(connection, encoding, &version::user_agent(&self.name, part));
        client.with_metrics(&self.metrics.of_server(&config.cluster_url))
    }

    /// A client for token and access reviews.
    pub(crate) fn delegated_client(&self, config: &kube::Config) -> Result<ApiClient, ConnectionError> {
        Ok(self.client(connect(config)?, config, Encoding::Json, "delegated"))
    }
}

/// A factory of clients for one API server.
pub(crate) struct Clients<'a> {
    config: &'a Config,
    identity: &'a ClientIdentity,
    kube_config: &'a kube::Config,
    connect: &'a Connect,
    connection: kube::Client,
    /// Without credentials, shared by controllers with service accounts of their own.
    anonymous: Option<kube::Client>,
    versions: VersionGuard,
    read_only: bool,
}

impl<'a> Clients<'a> {
    /// Sets up connections; nothing is sent yet.
    pub(crate) fn new(
        config: &'a Config,
        identity: &'a ClientIdentity,
        kube_config: &'a kube::Config,
        connect: &'a Connect,
    ) -> Result<Self, ConnectionError> {
        let anonymous = config.use_service_account_credentials.then(|| {
            let mut anonymous = kube_config.clone();
            anonymous.auth_info = AuthInfo::default();
            connect(&anonymous)
        });
        let (connection, anonymous) = (connect(kube_config)?, anonymous.transpose()?);
        Ok(Self {
            config,
            identity,
            kube_config,
            connect,
            connection,
            anonymous,
            versions: VersionGuard::default(),
            read_only: false,
        })
    }

    /// The same factory, whose clients send no writes.
    pub(crate) fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// A client with the credentials of the kubeconfig, without a rate limit.
    pub(crate) fn of(&self, part: &str) -> ApiClient {
        self.over(&self.connection, part)
    }

    /// The same with connections of its own, for requests that must not wait behind those of others: an API server takes
    /// 100 requests at a time on a connection, and all workers together send more. It belongs to the runtime in whose
    /// context it is made.
    pub(crate) fn unshared(&self, part: &str) -> Result<ApiClient, ConnectionError> {
        Ok(self.over(&(self.connect)(self.kube_config)?, part))
    }

    /// The client of a controller, with a rate limit of its own, and with `--use-service-account-credentials` the
    /// credentials of its service account.
    pub(crate) fn of_controller(&self, controller: Controller) -> ApiClient {
        let name = controller.client();
        let client = match &self.anonymous {
            None => self.of(name),
            Some(anonymous) => {
                let account = ServiceAccount::new(self.limited(self.of(version::NAME)), NAMESPACE, name);
                let part = format!("system:serviceaccount:{NAMESPACE}:{name}");
                self.over(anonymous, &part).with_service_account(account)
            }
        };
        self.limited(client)
    }

    fn over(&self, connection: &kube::Client, part: &str) -> ApiClient {
        let client = self.identity.client(connection.clone(), self.kube_config, self.config.encoding, part);
        let client = client.with_version_guard(self.versions.clone());
        if self.read_only { client.read_only() } else { client }
    }

    fn limited(&self, client: ApiClient) -> ApiClient {
        client.with_limit(self.config.rate.limiter())
    }
}
