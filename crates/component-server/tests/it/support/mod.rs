//! A server on loopback with fake reviews, certificates, and clients.

pub(crate) mod client;
pub(crate) mod fake_api;
pub(crate) mod log;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use component_server::{
    AuthenticationOptions, Authenticator, AuthorizationOptions, Authorizer, Checks, ComponentInfo, Routes,
    SecureServer, ServingOptions, Slis,
};
use futures::StreamExt as _;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use fake_api::FakeApi;

/// Time limit of every wait; longer than any step takes on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_mins(3);

/// Options of a server to start.
pub(crate) struct Setup {
    pub(crate) serving: ServingOptions,
    pub(crate) authentication: AuthenticationOptions,
    pub(crate) authorization: AuthorizationOptions,
    pub(crate) api: FakeApi,
    pub(crate) checks: Checks,
}

impl Default for Setup {
    fn default() -> Self {
        let reload_interval = Duration::from_millis(20);
        let mut serving = ServingOptions { reload_interval, ..ServingOptions::default() };
        // A busy machine must not lose a connection that a test keeps.
        (serving.limits.handshake, serving.limits.header) = (LIMIT, LIMIT);
        let (authentication, authorization) = Default::default();
        let (api, checks) = (FakeApi::default(), Checks::new());
        Self { serving, authentication, authorization, api, checks }
    }
}

/// A running server.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) api: FakeApi,
    pub(crate) checks: Checks,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Setup {
    /// Trusts these CAs of clients and front proxies, and the front proxy `front`.
    pub(crate) fn trusting(clients: &Path, proxies: &Path) -> Self {
        let mut setup = Self::default();
        setup.authentication.client_ca_file = Some(clients.into());
        setup.authentication.request_header.client_ca_file = Some(proxies.into());
        setup.authentication.request_header.allowed_names = vec!["front".to_owned()];
        setup
    }

    pub(crate) async fn start(self) -> TestServer {
        let Self { serving, authentication, authorization, api, checks } = self;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = SecureServer::with_listener(listener, &serving).await.unwrap();
        let address = server.local_addr().unwrap();
        let authenticator = Authenticator::load(authentication, Some(api.clone())).await.unwrap();
        let authorizer = Authorizer::new(authorization, Some(api.clone())).unwrap();
        let routes = routes(&checks);
        let (shutdown, stop) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let stop = async { stop.await.unwrap_or_default() };
            server.serve(routes, authenticator, authorizer, stop).await.unwrap();
        });
        TestServer { address, api, checks, shutdown, task }
    }
}

impl TestServer {
    /// Stops the server and waits until it has stopped.
    pub(crate) async fn stop(self) {
        self.shutdown.send(()).unwrap();
        tokio::time::timeout(LIMIT, self.task).await.unwrap().unwrap();
    }
}

fn routes(checks: &Checks) -> Routes {
    let info = ComponentInfo {
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
    let stream = axum::routing::any(async || {
        let words = futures::stream::iter(["s", "t", "r", "e", "a", "m"]);
        Body::from_stream(words.then(async |word| {
            tokio::time::sleep(Duration::from_millis(250)).await;
            Ok::<_, Infallible>(word)
        }))
    });
    Routes::new(info)
        .without_metrics(vec!["process_start_time_seconds".to_owned(), "down".to_owned()])
        .health("healthz", checks.clone(), slis.clone())
        .health("livez", Checks::new(), slis.clone())
        .health("readyz", checks.clone(), slis.clone())
        .metrics(|text| {
            text.push_str("# TYPE up gauge\nup 1\n# TYPE down gauge\ndown 0\n");
            Ok(())
        })
        .slis(slis)
        .configz("some.config.k8s.io", || serde_json::json!({"kind": "SomeConfiguration"}))
        .flagz(move || flags.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
        .state("Weather", || Some("fair".to_owned()))
        .state("Storm", || None)
        .log_level(|level| if level < 100 { Ok(()) } else { Err("too high".to_owned()) })
        .route("/debug/slow", slow)
        .route("/debug/stream", stream)
        .route("/debug/endless", axum::routing::any(std::future::pending::<()>))
}

/// Waits until a condition holds.
pub(crate) async fn eventually(condition: impl AsyncFn() -> bool) {
    let wait = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.expect("the condition holds in time");
}
