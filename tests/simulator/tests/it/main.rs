//! Histories as tests.

mod hostile;

use simulator::exhaustive::Cases;
use simulator::plan::Plan;
use simulator::run::{Options, all_of, one};

/// Enough to show a broken build of the simulator; `hack/test` runs 500, `hack/test --deep` 2,000.
const SEEDS: u64 = 60;

/// Fails if a history does not end well. `flags` of `hack/simulate` make the same histories.
fn end_well(seeds: u64, flags: &str, plan_of: &(dyn Fn(u64) -> Plan + Sync)) {
    let options = Options { from: 0, seeds, jobs: 2, mattered: 0, stop: true, progress: false };
    let failures = all_of(&options, plan_of).failures.pop_first();
    assert!(failures.is_none(), "{failures:?}; shrink it: hack/simulate {flags} --from SEED --seeds 1");
}

#[test]
fn histories_end_well() {
    end_well(SEEDS, "", &Plan::of);
}

#[test]
fn kubelets_that_are_lost_take_no_endpoints() {
    end_well(SEEDS, "--kubelets", &|seed| Plan::of(seed).with_lost_kubelets());
}

#[test]
fn an_audit_of_settled_clusters_finds_nothing() {
    end_well(100, "--audit", &|seed| Plan::of(seed).audited());
}

#[test]
#[cfg_attr(
    not(tokio_unstable),
    ignore = "tokio takes a seed only with --cfg tokio_unstable: hack/simulate --seeds 60 --twice"
)]
fn a_seed_is_one_history() {
    for seed in 0..10 {
        let plan = Plan::of(seed);
        assert_eq!(one(&plan).digest, one(&plan).digest, "seed {seed}");
    }
}

/// `hack/simulate --exhaustive` runs all of them.
#[test]
fn short_scenarios_end_well() {
    let cases = Cases::all();
    for number in (0..cases.count()).step_by(67) {
        let (plan, about) = (cases.plan(number), cases.describe(number));
        let outcome = one(&plan);
        assert!(outcome.failures.is_empty(), "case {number}: {about}: {:?}", outcome.failures);
        let missed = plan.pin.filter(|pin| outcome.counts.of(pin.accident.fault()) == 0);
        assert_eq!(missed, None, "case {number}: {about}: the fault did not happen");
    }
}
