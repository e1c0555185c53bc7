//! Upstream and ours on the same objects, with the feature gate `YieldToOtherWriters`. `hack/two-writers` runs the same for
//! longer, by environment variables.

use std::time::Duration;

use endpoint_informers::yielding::GRACE;
use tests::two_writers::cold_start::{self, ColdStart};
use tests::two_writers::load::{self, Load};
use tests::two_writers::{OURS, rounds};

/// The number that an environment variable has.
fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable)
        .map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{variable}={value}")))
}

/// The feature gate, which `hack/two-writers --off` leaves off to show the difference.
fn yields() -> bool {
    number("TWO_WRITERS_OFF", 0) == 0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cold_start_of_both_makes_no_slice_twice() {
    // With the default of both programs, upstream needs twice the grace for 200 Services.
    let (services, qps) = (number("TWO_WRITERS_SERVICES", 200), number("TWO_WRITERS_QPS", 20));
    let at_once = number("TWO_WRITERS_AT_ONCE", 0) == 1;
    let start = ColdStart { services, pods: 10, qps, at_once, yields: yields(), grace: GRACE };
    let cold_start::Outcome { made_twice, written, log } = cold_start::run(start).await;
    println!("cold start of both, {services} Services: {written:?}, made twice: {}", made_twice.len());
    if yields() {
        assert_eq!(made_twice, [""; 0], "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_load_costs_no_more_writes_than_under_upstream_alone() {
    const PAUSE: Duration = Duration::from_millis(200);
    let seconds = number("TWO_WRITERS_SECONDS", 20);
    let load = Load {
        seed: number("TWO_WRITERS_SEED", 0).into(),
        operations: seconds * 5,
        pause: PAUSE,
        yields: yields(),
    };
    let [alone, both] = Box::pin(load::run(load)).await;
    println!("{load:?}\nalone: {alone:?}\nboth: {both:?}");
    if !yields() {
        return;
    }
    assert_eq!(both.alternations, [""; 0]);
    assert_eq!(both.missing, [""; 0]);
    assert!(both.events > 0 && alone.accepted() > 0);
    // A short run has less to be a percentage of.
    let most = alone.accepted() + (alone.accepted() / 20).max(5);
    assert!(both.accepted() <= most, "{} writes, {} under upstream alone", both.accepted(), alone.accepted());
    let refused = both.written.get(OURS).copied().unwrap_or_default().refused;
    assert!(refused <= 5 + both.accepted() / 100, "{refused} writes of ours were refused");
}

/// Times are printed, not asserted beyond what tells a wait from none; bounds grow with the time of a change in the calm.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_acts_when_upstream_is_killed_and_yields_when_it_is_back() {
    let rounds = Box::pin(rounds::run(number("TWO_WRITERS_ROUNDS", 2) as usize)).await;
    for (number, round) in rounds.iter().enumerate() {
        println!("round {number}: {round:?}");
        assert!(round.takeover < round.calm.bound(2 * GRACE), "{round:?}");
        assert!(round.acting < round.calm.bound(GRACE), "{round:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_writes_are_counted_exactly() {
    Box::pin(rounds::counts()).await;
}
