//! Who this process is to the API server, and how much it may ask of it.

use kube_api::version_guard::VersionGuard;
use kube_api::{
    ApiClient, ClientMetrics, Encoding, RateLimiter, ServiceAccount, connect, connect_anonymously,
};
use prometheus_client::registry::Registry;

use crate::config::Config;
use crate::connection::ConnectionError;
use crate::controllers::Controller;
use crate::version;

/// Where the service accounts of controllers are (`k8s.io/controller-manager` `pkg/clientbuilder`).
const NAMESPACE: &str = "kube-system";

/// What all clients of this process have in common: how they call themselves, and where they count.
#[derive(Clone)]
pub(crate) struct Guise {
    name: String,
    metrics: ClientMetrics,
}

impl Guise {
    /// The name is the first part of the user agent, which is also what managedFields call us.
    pub(crate) fn new(config: &Config, registry: &mut Registry) -> Self {
        Self { name: config.user_agent_name.clone(), metrics: ClientMetrics::register(registry) }
    }

    /// A client that is not limited, whose user agent ends in `part`.
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
}

/// Makes the clients of one API server.
pub(crate) struct Clients<'a> {
    config: &'a Config,
    guise: &'a Guise,
    kube_config: &'a kube::Config,
    connection: kube::Client,
    /// What controllers with service accounts of their own share.
    anonymous: Option<kube::Client>,
    versions: VersionGuard,
}

impl<'a> Clients<'a> {
    /// Sets up connections; nothing is sent yet.
    pub(crate) fn new(
        config: &'a Config,
        guise: &'a Guise,
        kube_config: &'a kube::Config,
    ) -> Result<Self, ConnectionError> {
        let anonymous = config.use_service_account_credentials.then(|| connect_anonymously(kube_config));
        let (connection, anonymous) = (connect(kube_config)?, anonymous.transpose()?);
        let versions = VersionGuard::default();
        Ok(Self { config, guise, kube_config, connection, anonymous, versions })
    }

    /// A client with our own credentials that is not limited.
    pub(crate) fn of(&self, part: &str) -> ApiClient {
        self.over(&self.connection, part)
    }

    /// The same with connections of its own, for requests that must not wait behind those of others: an
    /// API server takes 100 requests at a time on a connection, and all workers together send more. It belongs to the
    /// runtime in whose context it is made.
    pub(crate) fn unshared(&self, part: &str) -> Result<ApiClient, ConnectionError> {
        Ok(self.over(&connect(self.kube_config)?, part))
    }

    /// The client of a controller: with a limit of its own, and the credentials of its service account if that is asked
    /// for (`--use-service-account-credentials`).
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
        let client = self.guise.client(connection.clone(), self.kube_config, self.config.encoding, part);
        client.with_version_guard(self.versions.clone())
    }

    fn limited(&self, client: ApiClient) -> ApiClient {
        let (qps, burst) = self.config.rate;
        client.with_limit(RateLimiter::new(qps, burst))
    }
}
