//! A process of one controller against the embedded API server, on a paused clock.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking, and so do their helpers")]

use std::future::pending;
use std::io::{self, Write};

use embedded_apiserver::ApiServer;
use endpointslice::{DesiredEndpoints, Service};
use http::{Method, Request};
use k8s_openapi::api::core::v1 as core;
use kube::api::{Api, PostParams};
use kube::client::Body;
use kube_api::{ApiClient, Encoding};
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tower::Service as _;
use tracing::Level;

use crate::manager::Manager;
use crate::reconciler::{Context, SliceReconciler};

/// Publishes each Service without endpoints: one slice.
struct Empty;

impl SliceReconciler for Empty {
    const NAME: &'static str = "empty.example.com";

    fn publishes(&self, _: &Service) -> bool {
        true
    }

    fn desired(&self, context: &Context<'_>) -> DesiredEndpoints {
        DesiredEndpoints::new(context.service().address_types())
    }
}

/// Publishes Services with an annotation that is known at run time only.
struct Annotated(&'static str);

impl SliceReconciler for Annotated {
    const NAME: &'static str = Empty::NAME;

    fn annotations(&self) -> Vec<&'static str> {
        vec![self.0]
    }

    fn publishes(&self, service: &Service) -> bool {
        service.annotations.get(self.0).is_some()
    }

    fn desired(&self, context: &Context<'_>) -> DesiredEndpoints {
        DesiredEndpoints::new(context.service().address_types())
    }
}

/// An API server with Service `default/web`.
async fn server() -> ApiServer {
    let server = ApiServer::new();
    let services: Api<core::Service> =
        Api::namespaced(kube::Client::new(server.clone(), "default"), "default");
    let spec = json!({"ports": [{"port": 80}], "ipFamilies": ["IPv4"]});
    let metadata = json!({"name": "web", "annotations": {"example.com/publish": "yes"}});
    let service = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
    services.create(&PostParams::default(), &service).await.unwrap();
    server
}

fn client(connection: kube::Client) -> ApiClient {
    ApiClient::new(connection, Encoding::Protobuf, Empty::NAME)
}

/// A webhook may hold a write up for longer than a kubelet waits for the end of a process.
#[tokio::test(start_paused = true)]
async fn a_write_without_a_response_delays_the_end_by_ten_seconds() {
    let (server, writing) = (server().await, watch::Sender::new(false));
    let mut is_writing = writing.subscribe();
    let connection = tower::service_fn(move |request: Request<Body>| {
        let (mut server, writing) = (server.clone(), writing.clone());
        async move {
            if request.method() == Method::POST && request.uri().path().ends_with("/endpointslices") {
                writing.send_replace(true);
                pending::<()>().await;
            }
            server.call(request).await
        }
    });
    let manager = Manager::new(client(kube::Client::new(connection, "default")));
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(async move { manager.run(Empty, async { drop(stopped.await) }).await });
    is_writing.wait_for(|writing| *writing).await.unwrap();
    let begin = Instant::now();
    drop(stop);
    running.await.unwrap().unwrap();
    let took = begin.elapsed().as_secs();
    assert!((10..=12).contains(&took), "{took} s");
}

/// A log that can be awaited.
#[derive(Clone, Default)]
struct Log(watch::Sender<String>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send_modify(|text| text.push_str(&String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs this until a sync of the Service is logged that created a slice.
async fn until_created<R: SliceReconciler>(rules: R) {
    let log = Log::default();
    let mut lines = log.0.subscribe();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || log.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let manager = Manager::new(client(kube::Client::new(server().await, "default")));
    let running = tokio::spawn(async move { manager.run(rules, pending()).await });
    let synced = "Synced key=default/web writes=1 result=\"ok\"";
    let seen = lines.wait_for(|text| text.contains(synced));
    tokio::time::timeout(std::time::Duration::from_secs(60), seen)
        .await
        .expect("a sync that creates")
        .unwrap();
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn each_sync_is_logged_with_its_writes_and_its_result() {
    until_created(Empty).await;
}

#[tokio::test(start_paused = true)]
async fn the_cache_keeps_annotations_that_are_known_at_run_time() {
    until_created(Annotated("example.com/publish")).await;
}
