//! The process: the controller, and the HTTPS server that shows its state.

use std::future::pending;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use component_server::{
    ApiReviews, AuthenticationOptions, Authenticator, AuthorizationOptions, Authorizer, Checks,
    ComponentInfo, Routes, SecureServer, ServingOptions, Slis, process_start, register_process_metrics,
};
use endpoint_informers::lifecycle::Phase;
use endpoint_informers::manager::Manager;
use kube_api::time::timeout;
use kube_api::{
    ApiClient, ClientMetrics, ConnectError, Encoding, RateLimiter, ServerMetrics, connect, error_chain,
    load_kubeconfig,
};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::options::Options;
use crate::reconciler::{NAME, PodNetworks};
use crate::resource_api::{serves_claims, stop_or_new_claims};

/// The longest wait for an API server at the start, as of endpoint-controller-manager: the kubelet's restarts wait longer.
const START_TIMEOUT: Duration = Duration::from_secs(10);
const UNANSWERED: &str =
    "the API server did not say within 10 s whether it serves resource.k8s.io/v1: see the warnings before";

/// Any failure: the process ends with its message.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs the controller, with sources that `customize` adds, until `stop` completes, or the API server serves ResourceClaims that it
/// did not serve at the start: a new process reads them. Writes under way finish then, and the Lease is released.
///
/// # Errors
///
/// The options, the credentials or the server's address can't be used; or leadership was lost. A new process starts with a
/// fresh cache.
pub async fn run(
    options: Options,
    customize: impl FnOnce(PodNetworks) -> PodNetworks,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    info!(version = env!("CARGO_PKG_VERSION"), "Starting");
    let mut stop = pin!(stop);
    let config = kube_config(options.kubeconfig.as_deref()).await?;
    let (mut registry, metrics) = registry();
    let metrics = metrics.of_server(&config.cluster_url);
    let client = ApiClient::new(connect(&config)?, Encoding::Protobuf, &user_agent()).with_metrics(&metrics);
    let phase = watch::Sender::new(Phase::Starting);
    let mut manager = Manager::new(client.clone())
        .with_metrics(&mut registry, NAME)
        .with_phase(phase.clone())
        .with_rate_limit(RateLimiter::new(options.qps, options.burst));
    if options.leader_elect {
        let namespace = options.lease_namespace.as_ref().unwrap_or(&config.default_namespace);
        manager = manager.with_leader_election(namespace);
    }
    let start = async {
        let has_claims = timeout(START_TIMEOUT, serves_claims(&client)).await.map_err(|_| UNANSWERED)?;
        let serving = serve(&options, &config, &metrics, routes(&phase, registry)).await?;
        Ok::<_, Failure>((has_claims, serving))
    };
    let (has_claims, serving) = tokio::select! {
        biased;
        () = &mut stop => return Ok(()),
        started = start => started?,
    };
    let networks = customize(networks(has_claims));
    let stop = stop_or_new_claims(stop, &client, has_claims);
    tokio::select! {
        ended = manager.run(networks, stop) => Ok(ended?),
        failed = serving => Err(failed),
    }
}

/// The registry of `/metrics`, with the metrics of the process and of its requests; and the latter.
fn registry() -> (Registry, ClientMetrics) {
    let mut registry = Registry::default();
    register_process_metrics(&mut registry);
    let metrics = ClientMetrics::register(&mut registry);
    (registry, metrics)
}

/// The sources that the API server has objects for.
fn networks(has_claims: bool) -> PodNetworks {
    if has_claims {
        return PodNetworks::default();
    }
    warn!("The API server does not serve resource.k8s.io/v1: no address is read from ResourceClaims");
    PodNetworks::without_claims()
}

/// The field manager of writes is the part before the slash.
fn user_agent() -> String {
    format!("{NAME}/v{} ({}/{})", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH)
}

async fn kube_config(path: Option<&Path>) -> Result<kube::Config, Failure> {
    let Some(path) = path else {
        let in_cluster = kube::Config::incluster();
        return in_cluster.map_err(|error| format!("--kubeconfig is not set, and {error}").into());
    };
    Ok(load_kubeconfig("--kubeconfig", path).await.map_err(|error| error_chain(&error))?)
}

/// The pages: health, metrics, status.
fn routes(phase: &watch::Sender<Phase>, registry: Registry) -> Routes {
    let (slis, readyz, registry) = (Slis::new(), Checks::new(), Arc::new(registry));
    let phase = phase.subscribe();
    readyz.register("controller", move || match *phase.borrow() {
        Phase::Standby | Phase::Running => Ok(()),
        phase => Err(format!("{phase:?}").to_lowercase()),
    });
    let info = ComponentInfo {
        component: NAME.to_owned(),
        started: process_start(),
        go_version: format!("none (Rust {})", env!("CARGO_PKG_RUST_VERSION")),
        binary_version: env!("CARGO_PKG_VERSION").to_owned(),
        emulation_version: "1.37".to_owned(),
    };
    Routes::new(info)
        .health("healthz", Checks::new(), slis.clone())
        .health("livez", Checks::new(), slis.clone())
        .health("readyz", readyz, slis.clone())
        .slis(slis)
        .metrics(move |text| encode(text, &registry))
}

/// Reviews by the API server, on a connection of their own: those that strangers cause delay no write.
fn reviews(config: &kube::Config, metrics: &ServerMetrics) -> Result<ApiReviews, ConnectError> {
    let client = ApiClient::new(connect(config)?, Encoding::Json, &user_agent());
    Ok(ApiReviews::new(client.with_metrics(metrics)))
}

/// Listens, and returns what serves: it ends with a failure only. Who may read `/metrics`, the API server decides.
async fn serve(
    options: &Options,
    config: &kube::Config,
    metrics: &ServerMetrics,
    routes: Routes,
) -> Result<impl Future<Output = Failure> + use<>, Failure> {
    let serving = ServingOptions {
        bind_address: options.bind_address,
        secure_port: options.secure_port.into(),
        tls_cert_file: options.tls_cert_file.clone(),
        tls_private_key_file: options.tls_private_key_file.clone(),
        ..ServingOptions::default()
    };
    let server = match SecureServer::bind(&serving).await? {
        Some(server) => {
            let (tokens, access) = (reviews(config, metrics)?, reviews(config, metrics)?);
            let authenticator = Authenticator::load(AuthenticationOptions::default(), Some(tokens)).await?;
            let authorizer = Authorizer::new(AuthorizationOptions::default(), Some(access))?;
            Some((server, authenticator, authorizer))
        }
        None => None,
    };
    Ok(async move {
        match server {
            Some((server, authenticator, authorizer)) => {
                let ended = server.serve(routes, authenticator, authorizer, pending()).await;
                format!("the HTTPS server ended: {ended:?}").into()
            }
            None => pending().await,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_the_process_are_served() {
        let (registry, _) = registry();
        let text = scripted_api::candidates::metrics(&registry);
        assert!(text.contains("\nprocess_resident_memory_bytes "), "{text}");
    }
}
