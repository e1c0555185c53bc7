//! The HTTPS server: its pages, authentication and authorization.

pub(crate) mod health;
pub(crate) mod service_states;

use std::future::pending;
use std::path::Path;
use std::sync::Arc;

use component_server::{
    ApiReviews, Authenticator, Authorizer, ComponentInfo, LoadError, Routes, SecureServer, ServeError, Slis,
    process_start,
};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::runtime::Handle;
use tokio::task::JoinError;

use crate::api_clients::ClientIdentity;
use crate::config::{Config, Server};
use crate::connection::{self, ConnectionError};
use crate::options::config_file::GROUP;
use crate::{gates, logging, version};
use health::Health;

/// Reasons for not serving.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServingError {
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Authentication(#[from] LoadError),
    #[error("{0}")]
    Authorization(String),
    #[error("the task that sets up the HTTPS server ended")]
    Panicked(#[from] JoinError),
}

/// A server that listens, with its authentication and authorization.
pub(crate) struct Serving {
    server: SecureServer,
    authenticator: Authenticator<ApiReviews>,
    authorizer: Authorizer<ApiReviews>,
}

impl Serving {
    /// Listens and sets up authentication, all on the runtime of the server. None with `--secure-port=0`.
    pub(crate) async fn prepare(
        config: &Server,
        identity: &ClientIdentity,
        threads: &Handle,
    ) -> Result<Option<Self>, ServingError> {
        let (config, identity) = (config.clone(), identity.clone());
        threads.spawn(async move { Self::prepare_here(&config, &identity).await }).await?
    }

    async fn prepare_here(config: &Server, identity: &ClientIdentity) -> Result<Option<Self>, ServingError> {
        let Some(server) = SecureServer::bind(&config.serving).await? else { return Ok(None) };
        let kubeconfig = config.authentication_kubeconfig.as_deref();
        let reviews = reviews_of(identity, "--authentication-kubeconfig", kubeconfig).await?;
        let authenticator = Authenticator::load(config.authentication.clone(), reviews).await?;
        let kubeconfig = config.authorization_kubeconfig.as_deref();
        let reviews = reviews_of(identity, "--authorization-kubeconfig", kubeconfig).await?;
        let authorizer = Authorizer::new(config.authorization.clone(), reviews);
        let authorizer = authorizer.map_err(ServingError::Authorization)?;
        Ok(Some(Self { server, authenticator, authorizer }))
    }

    /// Serves these pages until the process ends: probes and scrapers are answered to the end.
    pub(crate) async fn run(self, pages: Routes) -> String {
        let served = self.server.serve(pages, self.authenticator, self.authorizer, pending()).await;
        format!("the HTTPS server ended: {served:?}")
    }
}

/// Reviews by the API server of the kubeconfig that `flag` names.
async fn reviews_of(
    identity: &ClientIdentity,
    flag: &'static str,
    kubeconfig: Option<&Path>,
) -> Result<Option<ApiReviews>, ConnectionError> {
    let Some(config) = connection::load_delegated(flag, kubeconfig).await? else { return Ok(None) };
    Ok(Some(ApiReviews::new(identity.delegated_client(&config)?)))
}

/// The pages of the server (`cmd/kube-controller-manager/app/controllermanager.go` `Run`).
pub(crate) fn pages(config: &Config, health: &Health, registry: Arc<Registry>) -> Routes {
    let slis = Slis::new();
    let (configz, flagz) = (config.configz.clone(), config.flags.clone());
    let mut pages = Routes::new(facts(config))
        .without_metrics(config.disabled_metrics.clone())
        .health("healthz", health.healthz.clone(), slis.clone())
        .health("livez", health.livez.clone(), slis.clone())
        .health("readyz", health.readyz.clone(), slis.clone())
        .slis(slis)
        .metrics(move |text| encode(text, &registry))
        .configz(GROUP, move || configz.clone());
    if config.gates.enabled(gates::COMPONENT_FLAGZ) {
        pages = pages.flagz(move || flagz.iter().cloned().collect());
    }
    if !config.gates.enabled(gates::COMPONENT_STATUSZ) {
        pages = pages.without_statusz();
    }
    if config.server.profiling { pages.log_level(logging::set_verbosity) } else { pages }
}

fn facts(config: &Config) -> ComponentInfo {
    ComponentInfo {
        component: version::NAME.to_owned(),
        started: process_start(),
        go_version: format!("none (Rust {})", env!("CARGO_PKG_RUST_VERSION")),
        binary_version: version::VERSION.to_owned(),
        emulation_version: config.gates.versions().emulated().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    /// Pages are made only after the API server has answered, minutes later if it is down.
    #[test]
    fn pages_have_the_start_of_the_process() {
        let config = options::parse(["--master=http://127.0.0.1"]).unwrap();
        assert_eq!(facts(&config).started, process_start());
    }
}
