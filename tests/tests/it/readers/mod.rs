//! Programs that only read, on random clusters under upstream: they say nothing wrong. `cargo xtask readers` sets the environment.
//!
//! | Variable | What | Default |
//! |---|---|---|
//! | `READERS_TRACES` | the number of traces | 1 |
//! | `READERS_SEED` | the first | 0 |
//! | `READERS_OPERATIONS` | operations of each | 60 |

mod audit;
mod explain;

use std::collections::BTreeMap;
use std::ops::Range;

use tests::settled::{Trace, settle};
use tests::shadow;
use tests::variables::variable;

/// Operations between two states that `audit` and `explain` read.
const EVERY: usize = 5;

fn seeds() -> Range<u64> {
    let first = variable("READERS_SEED").unwrap_or(0);
    first..first + variable("READERS_TRACES").unwrap_or(1)
}

fn operations() -> usize {
    variable("READERS_OPERATIONS").unwrap_or(60)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_and_explain_agree_with_what_upstream_settled() {
    let (mut repeated, mut states, mut explained) = (0, 0, 0);
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeds() {
        let trace = Trace { seed, states: operations() / EVERY, every: EVERY };
        repeated += Box::pin(settle(&trace, |state| {
            let findings = audit::findings(state);
            let mut wrong = audit::false_alarms(state, &findings);
            // It knows the default sizes, which are those of even seeds as far as a trace can tell.
            let is_explained = state.max == 100;
            if is_explained {
                wrong.extend(explain::disagreements(state));
            }
            if wrong.is_empty() {
                states += 1;
                if is_explained {
                    explained += state.of_kind("Service").count() * state.of_kind("Pod").count();
                }
                for finding in &findings {
                    let line = format!("{:<8} {}", finding.severity.name(), finding.rule);
                    *tally.entry(line).or_default() += 1;
                }
            }
            wrong
        }))
        .await;
        println!("{states} states, {explained} pairs of a Service and a pod, {repeated} looked at again");
    }
    println!("findings, all of them info or confirmed by the oracle:");
    for (line, count) in &tally {
        println!("{count:7}  {line}");
    }
    assert!(
        seeds().all(|seed| !seed.is_multiple_of(2)) || explained > states,
        "{explained} pairs in {states} states"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shadow_names_nothing_that_lasts() {
    let mut failed = Vec::new();
    for seed in seeds() {
        let (end, helped) = Box::pin(shadow::run(seed, operations())).await;
        println!(
            "seed {seed}: {} comparisons, {} differences, the longest {:.1} s; {} lasting; \
             upstream needed help {helped} times",
            end.sum("comparisons"),
            end.sum("differences"),
            end.longest(),
            end.sum("lasting")
        );
        // The planted ones show that differences are found. Here it depends on which program is faster.
        assert!(end.sum("comparisons") > 0.0, "{}", end.report);
        assert_eq!((end.sum("recent"), end.sum("untracked")), (0.0, 0.0), "{}", end.report);
        assert!(end.writes().is_empty() && !end.requests.is_empty(), "{:#?}", end.writes());
        if end.code != 0 || end.sum("lasting") > 0.0 {
            println!("{:#}", end.report["lasting"]);
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "differences lasted with the seeds {failed:?}");
}
