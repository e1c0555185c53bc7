//! A load balancer that closes idle connections: quiet watches are cut again and again, and resumed at once.

use std::time::Duration;

use tests::wait::{self, LIMIT};
use tokio::time::sleep;

use super::fixture::{Fixture, change, measured, patience};

/// The idle timeout of a load balancer; kubeadm's guide for haproxy has 20 s.
const IDLE: Duration = Duration::from_secs(4);
/// The interval of changes: each comes just after the watches were cut.
const ROUND: Duration = Duration::from_secs(5);
const ROUNDS: usize = 9;

/// Above any delay, below the sum of an exponential back-off.
const BOUND: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_balancer_that_closes_idle_connections_delays_nothing() {
    let fixture = Fixture::behind_a_proxy(|options| options).await;
    fixture.proxy.close_idle_after(IDLE);
    let mut delays = Vec::new();
    for round in 0..ROUNDS {
        let before = fixture.proxy.idle_connections_closed();
        sleep(ROUND).await;
        wait::until("a connection to be cut", LIMIT, async || {
            if fixture.proxy.idle_connections_closed() > before { Ok(()) } else { Err("none was idle") }
        })
        .await;
        let ready = !round.is_multiple_of(2);
        delays.push(change(&fixture.world, "web", ready, patience(LIMIT)).await.unwrap());
    }
    println!("delays: {delays:.1?}; {} connections cut", fixture.proxy.idle_connections_closed());
    let longest = delays.iter().max().copied().unwrap();
    measured("change after idle connections were closed, longest delay", longest);
    assert!(longest < fixture.calm.bound(BOUND), "{delays:.1?}");
}
