//! A load balancer that closes idle connections: quiet watches are cut again and again, and resumed at once.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::fixture::{Fixture, change, measured, patience};

/// The idle timeout of a load balancer; kubeadm's guide for haproxy has 20 s.
const IDLE: Duration = Duration::from_secs(4);
/// The interval of changes: each comes just after the watches were cut.
const ROUND: Duration = Duration::from_secs(5);
const ROUNDS: usize = 9;

/// Above any delay of a busy machine, below the sum of an exponential back-off.
const BOUND: Duration = Duration::from_secs(5);
/// The limit for the whole test.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_balancer_that_closes_idle_connections_delays_nothing() {
    let fixture = Fixture::behind_a_proxy(|options| options).await;
    fixture.proxy.close_idle_after(IDLE);
    let start = Instant::now();
    let mut delays = Vec::new();
    while delays.len() < ROUNDS && start.elapsed() < LIMIT {
        let next = Instant::now() + ROUND;
        sleep_until(next).await;
        let ready = !delays.len().is_multiple_of(2);
        delays.push(change(&fixture.world, "web", ready, patience(LIMIT)).await.unwrap());
    }
    println!("delays: {delays:.1?}; {} connections cut", fixture.proxy.idle_connections_closed());
    let longest = delays.iter().max().copied().unwrap();
    measured("change after idle connections were closed, longest delay", longest);
    assert!(fixture.proxy.idle_connections_closed() >= ROUNDS - 1, "hardly anything was cut");
    assert!(longest < BOUND, "{delays:.1?}");
    assert_eq!(delays.len(), ROUNDS);
}
