//! The health and metrics server: plain HTTP on loopback.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::exposition;

/// What the server knows.
#[derive(Clone)]
pub(crate) struct Health {
    /// One entry for each kind that is watched: its name, and whether the cache holds it.
    pub(crate) caches: Arc<Vec<(&'static str, watch::Receiver<bool>)>>,
    /// True while the controllers run.
    pub(crate) running: watch::Receiver<bool>,
    pub(crate) registry: Arc<Registry>,
    /// Names of metrics that are not exposed.
    pub(crate) disabled_metrics: Arc<[String]>,
}

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, health: Health) -> std::io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/livez", get(|| async { "ok" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(health);
    axum::serve(listener, router).await
}

/// Ready means: the cache holds everything, and the controllers work on it.
async fn readyz(State(health): State<Health>) -> Response {
    let caches = health
        .caches
        .iter()
        .map(|(resource, synced)| (format!("informer-sync/{resource}"), *synced.borrow()));
    let checks: Vec<(String, bool)> =
        caches.chain([("controllers".to_owned(), *health.running.borrow())]).collect();
    if checks.iter().all(|(_, ok)| *ok) {
        return "ok".into_response();
    }
    let lines: Vec<String> = checks.iter().map(|(name, ok)| Check(name, *ok).to_string()).collect();
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{}\nreadyz check failed\n", lines.join("\n")))
        .into_response()
}

/// One line of a failed check, in the form of Kubernetes' own servers.
struct Check<'a>(&'a str, bool);

impl fmt::Display for Check<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(name, true) => write!(f, "[+]{name} ok"),
            Self(name, false) => write!(f, "[-]{name} failed: not yet"),
        }
    }
}

async fn metrics(State(health): State<Health>) -> Response {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &health.registry) {
        Ok(()) => {
            let text = exposition::without(text, &health.disabled_metrics);
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
