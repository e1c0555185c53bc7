//! Connections over HTTP/2: what is noticed of a dead one, and what is sent again.

use std::time::Duration;

use endpointslice::Pod;
use http::Request;
use k8s_openapi::api::core::v1::Endpoints;
use kube::client::Body;
use kube_api::{ApiClient, ApiError, Encoding, KeepAlive, connect, connect_with};
use scripted_api::LIMIT;
use scripted_api::balancer::{NewConnections, Proxy};
use scripted_api::clock::Still;
use scripted_api::http2::{Act, Server};
use scripted_api::loopback::reserve;
use scripted_api::script::Script;
use scripted_api::wire::{Wire, pod};
use tokio::time::{Instant, advance, resume, sleep, timeout};

use super::world::World;
use crate::list_watch::Timing;

/// Longer than any test waits.
const NEVER: Duration = Duration::from_hours(1);
const NO_PINGS: KeepAlive = KeepAlive { interval: NEVER, timeout: NEVER };
const ENDPOINTS: &str = "/api/v1/namespaces/shop/endpoints/web";

fn client(server: &Server) -> ApiClient {
    ApiClient::new(connect_with(&server.config(), NO_PINGS).unwrap(), Encoding::Json, "test/1.0")
}

fn answer() -> Act {
    Act::Answer("{}".to_owned())
}

async fn write(client: &ApiClient) -> Result<Endpoints, ApiError> {
    client.update(ENDPOINTS, &Endpoints::default()).await
}

/// As many as there are kinds, and more. The server sends what it may at once: a megabyte for each.
#[tokio::test]
async fn unread_watches_do_not_block_other_responses() {
    const WATCHES: usize = 15;
    let unread = || Act::Begin("x".repeat(1 << 20));
    let mut server = Server::start((0..WATCHES).map(|_| unread()).chain([answer()])).await;
    let kube_client = connect_with(&server.config(), NO_PINGS).unwrap();
    let mut watches = Vec::new();
    for _ in 0..WATCHES {
        let watch = kube_client.send(Request::get("/watch").body(Body::empty()).unwrap());
        watches.push(timeout(LIMIT, watch).await.unwrap().unwrap());
    }
    let client = ApiClient::new(kube_client, Encoding::Json, "test/1.0");
    assert_eq!(client.get_raw("/version").await.unwrap(), "{}");
    for _ in 0..=WATCHES {
        assert_eq!(server.asked().await, 0, "one connection that bears all of them");
    }
    drop(watches);
}

/// With the default of 15 s and 10 s, that is within 25 s.
#[tokio::test(start_paused = true)]
async fn a_watch_is_resumed_soon_after_its_server_dies_behind_a_live_proxy() {
    let clock = Still::keep();
    let wire = Wire(Encoding::Json);
    let text = |events: &[bytes::Bytes]| Act::Begin(String::from_utf8(events.concat()).unwrap());
    let a = wire.added(&pod("a", "1", "10.0.0.1"));
    let later = [wire.added(&pod("b", "11", "10.0.0.2"))];
    // Should the machine be so slow that a live connection looks dead, there is more than one later watch.
    let acts = std::iter::once(text(&[a, wire.end_of_list("10")])).chain((0..100).map(|_| text(&later)));
    let mut server = Server::start(acts).await;
    let balancer = Proxy::start(server.address).await;
    let keep_alive = KeepAlive { interval: Duration::from_millis(500), timeout: Duration::from_millis(500) };
    let client = connect_with(&server.config_at(balancer.address()), keep_alive).unwrap();
    let timing = Timing { header: NEVER, silence: NEVER, initial_silence: NEVER, ..Timing::default() };
    let mut world = World::start::<Pod>(client, &Script::new([]), wire, timing);
    timeout(LIMIT, world.synced.wait_for(|synced| *synced)).await.unwrap().unwrap();
    assert_eq!(server.asked().await, 0);

    drop(clock);
    resume();
    balancer.blackhole(NewConnections::Forwarded);
    assert!(server.asked().await > 0, "over another connection");
    let resumed = async {
        while world.pods().len() < 2 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LIMIT, resumed).await.expect("noticed by the pings, not by the silence of the watch");
}

/// A pooled connection to a dead server: the next request must not meet another one like it, nor wait for the ping.
#[tokio::test(start_paused = true)]
async fn a_request_without_a_response_replaces_the_connections() {
    let _clock = Still::keep();
    let mut server = Server::start([answer(), Act::Ignore, Act::Ignore, answer()]).await;
    let client = client(&server);
    write(&client).await.unwrap();
    assert_eq!(server.asked().await, 0);

    let asking = |client: ApiClient| tokio::spawn(async move { write(&client).await });
    let short = asking(client.clone());
    assert_eq!(server.asked().await, 0);
    short.abort();
    assert!(short.await.unwrap_err().is_cancelled());

    let long = asking(client.clone());
    assert_eq!(server.asked().await, 0, "one that was given up early says nothing about the connection");
    // The shortest time that an election gives a request.
    advance(Duration::from_secs(1)).await;
    long.abort();
    assert!(long.await.unwrap_err().is_cancelled());
    write(&client).await.unwrap();
    assert_eq!(server.asked().await, 1);
}

#[tokio::test]
async fn a_write_that_the_server_did_not_process_is_sent_again() {
    for (unseen, connection) in [(Act::Refuse, 0), (Act::GoAway, 1)] {
        let mut server = Server::start([answer(), unseen.clone(), answer()]).await;
        let client = client(&server);
        write(&client).await.unwrap();
        write(&client).await.unwrap();
        let connections = [server.asked().await, server.asked().await, server.asked().await];
        assert_eq!(connections, [0, 0, connection], "{unseen:?}");
    }
}

#[tokio::test]
async fn a_write_is_sent_four_times_at_most() {
    let mut server = Server::start((0..10).map(|_| Act::Refuse)).await;
    let start = Instant::now();
    let error = write(&client(&server)).await.unwrap_err();
    assert!(matches!(error, ApiError::Transport(_)), "{error:?}");
    let (sent, elapsed) = (server.more(), start.elapsed());
    // On a machine that takes 10 s for this, the caller is to decide sooner.
    let expected = if elapsed < Duration::from_secs(10) { 4..=4 } else { 1..=4 };
    assert!(expected.contains(&sent), "{sent} after {elapsed:?}: {error:?}");
}

#[tokio::test]
async fn a_write_with_an_unknown_outcome_is_not_sent_again() {
    for unknown in [Act::Fail, Act::Close, Act::Begin("{".to_owned())] {
        let mut server = Server::start([answer(), unknown.clone(), answer()]).await;
        let client = client(&server);
        write(&client).await.unwrap();
        let outcome = match unknown {
            Act::Begin(_) => {
                let writing = tokio::spawn(async move { write(&client).await });
                server.asked().await;
                server.asked().await;
                drop(server);
                assert!(matches!(writing.await.unwrap(), Err(ApiError::Transport(_))));
                continue;
            }
            _ => write(&client).await,
        };
        assert!(matches!(outcome, Err(ApiError::Transport(_))), "{unknown:?}: {outcome:?}");
        assert_eq!(server.more(), 2, "{unknown:?}");
    }
}

/// No server listens: the request is repeated a few times, and then the caller decides.
#[tokio::test]
async fn a_connection_that_cannot_be_made_is_retried_after_pauses() {
    let [unused, _] = reserve();
    let address = unused.local_addr().unwrap();
    let config = Server::start([]).await.config_at(address);
    let client = ApiClient::new(connect(&config).unwrap(), Encoding::Json, "test/1.0");
    let start = Instant::now();
    let error = write(&client).await.unwrap_err();
    assert!(matches!(error, ApiError::Transport(_)), "{error:?} at {address}");
    assert!(start.elapsed() >= Duration::from_millis(300), "with pauses");
}
