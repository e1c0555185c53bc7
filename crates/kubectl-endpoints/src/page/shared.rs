//! `--shared`: the page for the users of a cluster, over HTTPS, behind the authentication and authorization of its API server.

use std::sync::Arc;

use axum::routing::any_service;
use component_server::{
    ApiReviews, AuthenticationOptions, Authenticator, AuthorizationOptions, Authorizer, Checks,
    ComponentInfo, Routes, SecureServer, ServingOptions, Slis, process_start,
};
use endpoint_controller_manager::signals::StopSignals;
use endpoint_controller_manager::version;
use endpoint_diagnostics_page::follow::Follower;
use endpoint_diagnostics_page::shared::{self, PREFIX};
use kube_api::{ApiClient, error_chain};
use tokio::sync::watch;

use crate::exit::{self, Failure};
use crate::name::NAME;

/// Listens as the flags say.
///
/// # Errors
/// A line about the address or the certificate.
pub(super) async fn listen(options: &ServingOptions) -> Result<SecureServer, Failure> {
    let failed = |reason: String| Failure::Input(format!("--shared: {reason}"));
    let server = SecureServer::bind(options).await.map_err(|error| failed(error_chain(&error)))?;
    server.ok_or_else(|| failed("needs a port other than 0".to_owned()))
}

/// Serves until a signal. Who may get the paths below [`PREFIX`] sees all that the program may read.
///
/// # Errors
/// A line about the cluster, if it says nothing about how its users are known.
pub(super) async fn serve(
    server: SecureServer,
    client: &ApiClient,
    follower: Arc<Follower>,
) -> Result<(), Failure> {
    let failed = |error: &dyn std::error::Error| Failure::Access(format!("--shared: {}", error_chain(error)));
    let reviews = || Some(ApiReviews::new(client.clone()));
    let authenticator = Authenticator::load(AuthenticationOptions::default(), reviews()).await;
    let authenticator = authenticator.map_err(|error| failed(&error))?;
    let mut authorization = AuthorizationOptions::default();
    authorization.always_allow_paths.extend(shared::public_paths());
    let authorizer = Authorizer::new(authorization, reviews()).map_err(Failure::Input)?;
    let (stop, stopping) = watch::channel(false);
    let page = shared::pages(follower, stopping);
    let info = ComponentInfo {
        component: NAME.to_owned(),
        started: process_start(),
        go_version: "none".to_owned(),
        binary_version: version::VERSION.to_owned(),
        emulation_version: version::KUBERNETES.trim_start_matches('v').to_owned(),
    };
    let routes = Routes::new(info)
        .health("healthz", Checks::new(), Slis::new())
        .health("readyz", Checks::new(), Slis::new())
        .route(&format!("{PREFIX}/"), any_service(page.clone()))
        .route(&format!("{PREFIX}/{{*rest}}"), any_service(page));
    let signals = StopSignals::listen();
    let mut signals = signals.map_err(|error| Failure::Access(format!("cannot handle signals: {error}")))?;
    let address = server.local_addr().map_err(|error| Failure::Input(error.to_string()))?;
    exit::show(&format!("https://{address}{PREFIX}/\n"))?;
    let stopped = async {
        let signal = signals.received().await;
        exit::note(&format!("Received {signal}: the server ends"));
        stop.send_replace(true);
    };
    server.serve(routes, authenticator, authorizer, stopped).await.map_err(|error| failed(&error))
}
