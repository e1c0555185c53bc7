//! Connections that die silently must not cost leadership as long as new ones work, over real sockets, on a clock that
//! stands still while they work; and connections that take long.
use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use controller_kit::election::{Config, ElectionMetrics, Elector, Identity, LeaseLock};
use controller_kit::recorder::Recorder;
use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube_api::{ApiClient, Encoding, connect};
use tokio::net::TcpListener;
use tokio::task::yield_now;
use tokio::time::{advance, sleep, timeout};

use scripted_api::LIMIT;
use scripted_api::clock::Still;
use scripted_api::leases::{LEASE, LeaseServer};
use scripted_api::loopback::Loopback;

/// Counters of the server.
#[derive(Default)]
struct Counts {
    accepted: AtomicU64,
    unanswered: AtomicU64,
    /// Connections with a number below this one stay open without answering, as when the machine behind them has lost
    /// power.
    alive_from: AtomicU64,
}

/// Serves the Lease on a loopback port. The first answer waits for a second connection.
async fn serve(leases: Arc<LeaseServer>, counts: Arc<Counts>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let number = counts.accepted.fetch_add(1, Ordering::SeqCst);
            let (leases, counts) = (Arc::clone(&leases), Arc::clone(&counts));
            let service = service_fn(move |request: Request<Incoming>| {
                let (leases, counts) = (Arc::clone(&leases), Arc::clone(&counts));
                async move {
                    if number < counts.alive_from.load(Ordering::SeqCst) {
                        counts.unanswered.fetch_add(1, Ordering::SeqCst);
                        pending::<()>().await;
                    }
                    until(|| counts.accepted.load(Ordering::SeqCst) > 1).await;
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

/// Waits without the clock, which stands still.
async fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "the condition does not come true");
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn idle_connections_to_a_dead_server_do_not_cost_leadership() {
    let _clock = Still::keep();
    let (leases, counts) = (LeaseServer::new(), Arc::new(Counts::default()));
    let address = serve(Arc::clone(&leases), Arc::clone(&counts)).await;
    let client = ApiClient::new(connect(&Loopback::config(address)).unwrap(), Encoding::Protobuf, "us");
    let _ = tokio::join!(client.get_raw(LEASE), client.get_raw(LEASE));
    // Time for the client to keep both connections.
    for _ in 0..100 {
        yield_now().await;
    }

    let config = Config::default();
    let lock = LeaseLock::new(client.clone(), "kube-system", "controllers");
    let (recorder, _events) = Recorder::new(client, "us");
    let (elector, leadership) =
        Elector::new(config, lock, Identity::unique("us"), recorder, ElectionMetrics::default());
    tokio::spawn(elector.run(pending()));
    assert!(leadership.gained().await);

    let dead = counts.accepted.load(Ordering::SeqCst);
    assert!(dead > 1);
    counts.alive_from.store(dead, Ordering::SeqCst);
    let version = || leases.lease().unwrap().metadata.resource_version;
    let (acquired, unanswered) = (version(), || counts.unanswered.load(Ordering::SeqCst));
    // The default retry period.
    advance(Duration::from_secs(2)).await;
    until(|| unanswered() == 1).await;
    // A request may take half of the deadline, so that two that are not answered are all it takes.
    advance(config.renew_deadline() / 2).await;
    until(|| version() != acquired || unanswered() > 1).await;
    assert_eq!(unanswered(), 1, "two idle connections were tried one after the other");
    assert!(leadership.is_held());
}

/// A client whose first request waits for a connection that takes this long. It ends with the request.
fn connecting(leases: &Arc<LeaseServer>, takes: Duration) -> ApiClient {
    let (leases, connected) = (Arc::clone(leases), Arc::new(AtomicBool::new(false)));
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (leases, connected) = (Arc::clone(&leases), Arc::clone(&connected));
        async move {
            if !connected.load(Ordering::SeqCst) {
                sleep(takes).await;
                connected.store(true, Ordering::SeqCst);
            }
            leases.answer(request).await
        }
    });
    ApiClient::new(kube::Client::new(service, "default"), Encoding::Protobuf, "us")
}

/// As behind a gateway under load: Go's transport goes on connecting after the request.
#[tokio::test(start_paused = true)]
async fn a_connection_that_takes_long_does_not_keep_a_process_from_leading() {
    for (takes, within) in [(6, 30), (19, 60)] {
        let client = connecting(&LeaseServer::new(), Duration::from_secs(takes));
        let lock = LeaseLock::new(client.clone(), "kube-system", "controllers");
        let (recorder, _events) = Recorder::new(client, "us");
        let (identity, metrics) = (Identity::unique("us"), ElectionMetrics::default());
        let (elector, leadership) = Elector::new(Config::default(), lock, identity, recorder, metrics);
        tokio::spawn(elector.run(pending()));
        let gained = timeout(Duration::from_secs(within), leadership.gained()).await;
        assert_eq!(gained.ok(), Some(true), "a connection that takes {takes} s");
    }
}
