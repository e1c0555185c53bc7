//! `shadow` beside upstream. `cargo xtask shadow-parity` sets the environment of the first:
//!
//! | Variable | What | Default |
//! |---|---|---|
//! | `SHADOW_SEEDS` | the number of traces | 1 |
//! | `SHADOW_SEED` | the first | 0 |
//! | `SHADOW_OPERATIONS` | operations of each | 60 |
//! | `SHADOW_TOPOLOGY` | `true` or `false`: whether Services ask for topology-aware hints | `false` |
//! | `SHADOW_GRACE` | the grace period, in seconds | 600 |

mod planted;

use std::env;
use std::fmt::Debug;
use std::str::FromStr;
use std::time::Duration;

use tests::shadow::{Trace, run};

fn variable<T: FromStr<Err: Debug>>(name: &str, default: T) -> T {
    let text = env::var(name).ok().filter(|text| !text.is_empty());
    text.map_or(default, |text| text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error:?}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_lasts_beside_upstream() {
    let first = variable("SHADOW_SEED", 0);
    let mut failed = Vec::new();
    for seed in first..first + variable("SHADOW_SEEDS", 1) {
        let trace = Trace {
            seed,
            operations: variable("SHADOW_OPERATIONS", 60),
            topology: variable("SHADOW_TOPOLOGY", false),
            // Upstream is late on a busy machine, and retries after growing delays. Only a failure takes as long.
            grace: Duration::from_secs(variable("SHADOW_GRACE", 600)),
        };
        let (end, helped) = Box::pin(run(&trace)).await;
        println!(
            "seed {seed}: {} operations, {} comparisons, {} differences, the longest {:.1} s; {} lasting; \
             upstream needed help {helped} times",
            trace.operations,
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
