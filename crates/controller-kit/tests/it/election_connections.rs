//! Connections that die silently must not cost leadership as long as new ones work. Over real sockets, with durations
//! of seconds.
use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use controller_kit::election::{Config, ElectionMetrics, Elector, Identity, LeaseLock};
use controller_kit::recorder::Recorder;
use http::{Method, Request};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube_api::{ApiClient, Encoding, connect};
use tokio::net::TcpListener;
use tokio::time::sleep;

use scripted_api::leases::{Fate, LEASE, LeaseServer};
use scripted_api::loopback::Loopback;

/// Serves the Lease on a loopback port. Connections with a number below `alive_from` stay open without answering, as
/// when the machine behind them has lost power.
async fn serve(leases: Arc<LeaseServer>, alive_from: Arc<AtomicU64>, accepted: Arc<AtomicU64>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let number = accepted.fetch_add(1, Ordering::SeqCst);
            let (leases, alive_from) = (Arc::clone(&leases), Arc::clone(&alive_from));
            let service = service_fn(move |request: Request<Incoming>| {
                let (leases, alive_from) = (Arc::clone(&leases), Arc::clone(&alive_from));
                async move {
                    if number < alive_from.load(Ordering::SeqCst) {
                        pending::<()>().await;
                    }
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.unwrap().to_bytes();
                    let request = Request::from_parts(parts, kube::client::Body::from(body));
                    Ok::<_, Infallible>(leases.answer(request).await.unwrap())
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

#[tokio::test]
async fn idle_connections_to_a_dead_server_do_not_cost_leadership() {
    let milliseconds = Duration::from_millis;
    let leases = LeaseServer::with_fates(move |sent| Fate {
        // So that requests overlap, and each needs a connection of its own.
        before: if sent.method == Method::GET { milliseconds(200) } else { Duration::ZERO },
        ..Fate::default()
    });
    let (alive_from, accepted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let address = serve(Arc::clone(&leases), Arc::clone(&alive_from), Arc::clone(&accepted)).await;
    let client = ApiClient::new(connect(&Loopback::config(address)).unwrap(), Encoding::Protobuf, "us");
    let _ = tokio::join!(client.get_raw(LEASE), client.get_raw(LEASE));
    assert_eq!(accepted.load(Ordering::SeqCst), 2);

    // A request may take half of the deadline, so that two that are not answered are all it takes.
    let config = Config::new(milliseconds(7000), milliseconds(6000), milliseconds(500)).unwrap();
    let lock = LeaseLock::new(client.clone(), "kube-system", "controllers");
    let (recorder, _events) = Recorder::new(client, "us");
    let (elector, leadership) =
        Elector::new(config, lock, Identity::unique("us"), recorder, ElectionMetrics::default());
    tokio::spawn(elector.run(pending()));
    assert!(leadership.gained().await);

    alive_from.store(accepted.load(Ordering::SeqCst), Ordering::SeqCst);
    sleep(config.renew_deadline() + milliseconds(1000)).await;
    assert!(leadership.is_held(), "two idle connections were tried one after the other");
    assert_eq!(accepted.load(Ordering::SeqCst), 3);
}
