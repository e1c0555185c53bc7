//! A server on loopback, certificates, clients, and an API server that only pretends.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "shared by several tests, each using a part")]

pub mod client;
pub mod fake;
pub mod pki;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use component_server::{
    AuthenticationOptions, Authenticator, AuthorizationOptions, Authorizer, BuildFacts, Checks, Endpoints,
    SecureServer, ServingOptions, Slis,
};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use fake::FakeApi;

/// Longer than anything here takes on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// What to start.
pub struct Setup {
    pub serving: ServingOptions,
    pub authentication: AuthenticationOptions,
    pub authorization: AuthorizationOptions,
    pub api: FakeApi,
    pub checks: Checks,
}

impl Default for Setup {
    fn default() -> Self {
        let reload_interval = Duration::from_millis(20);
        let serving = ServingOptions { reload_interval, ..ServingOptions::default() };
        let (authentication, authorization) = Default::default();
        Self { serving, authentication, authorization, api: FakeApi::default(), checks: Checks::new() }
    }
}

/// A running server.
pub struct Running {
    pub address: SocketAddr,
    pub api: FakeApi,
    pub checks: Checks,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Setup {
    /// Trusts these authorities for clients, and lets `front` speak for others.
    pub fn trusting(clients: &Path, proxies: &Path) -> Self {
        let mut setup = Self::default();
        setup.authentication.client_ca_file = Some(clients.into());
        setup.authentication.request_header.client_ca_file = Some(proxies.into());
        setup.authentication.request_header.allowed_names = vec!["front".to_owned()];
        setup
    }

    pub async fn start(self) -> Running {
        let Self { serving, authentication, authorization, api, checks } = self;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = SecureServer::with_listener(listener, &serving).await.unwrap();
        let address = server.local_addr().unwrap();
        let authenticator = Authenticator::load(authentication, Some(api.clone())).await.unwrap();
        let authorizer = Authorizer::new(authorization, Some(api.clone())).unwrap();
        let endpoints = endpoints(&checks);
        let (shutdown, stop) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let stop = async { stop.await.unwrap_or_default() };
            server.serve(endpoints, authenticator, authorizer, stop).await.unwrap();
        });
        Running { address, api, checks, shutdown, task }
    }
}

impl Running {
    /// Asks the server to stop, and waits until it has.
    pub async fn stop(self) {
        self.shutdown.send(()).unwrap();
        tokio::time::timeout(LIMIT, self.task).await.unwrap().unwrap();
    }
}

fn endpoints(checks: &Checks) -> Endpoints {
    let facts = BuildFacts {
        component: "some-component".to_owned(),
        started: "2026-11-01T15:13:50Z".parse().unwrap(),
        go_version: "none".to_owned(),
        binary_version: "1.36.3".to_owned(),
        emulation_version: "1.36".to_owned(),
    };
    let slis = Slis::new();
    let flags = [("v", "4"), ("bind-address", "127.0.0.1")];
    let slow = axum::routing::any(|| async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        "slow"
    });
    Endpoints::new(facts)
        .health("healthz", checks.clone(), slis.clone())
        .health("livez", Checks::new(), slis.clone())
        .health("readyz", checks.clone(), slis.clone())
        .metrics(|text| {
            text.push_str("# TYPE up gauge\nup 1\n");
            Ok(())
        })
        .slis(slis, |text| text + "# filtered\n")
        .configz("some.config.k8s.io", &serde_json::json!({"kind": "SomeConfiguration"}))
        .flagz(flags.map(|(name, value)| (name.to_owned(), value.to_owned())))
        .log_level(|level| if level < 100 { Ok(()) } else { Err("too loud".to_owned()) })
        .route("/debug/slow", slow)
}
