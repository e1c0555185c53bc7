//! `explain` on real servers: it agrees with what upstream writes, needs few rights, and is a plugin of kubectl.
//!
//! `cargo xtask explain-agreement` sets the environment of the first:
//!
//! | Variable | What | Default |
//! |---|---|---|
//! | `EXPLAIN_CLUSTERS` | the number of random clusters | 16 |
//! | `EXPLAIN_SEED` | the seed of the first | 0 |
//! | `EXPLAIN_NAMESPACES` | clusters that change at the same time | 50 |
//! | `EXPLAIN_OPERATIONS` | operations between two states of a cluster | 12 |

mod plugin;

use std::env;
use std::str::FromStr;

use tests::agreement::{Options, run};

fn variable<T: FromStr>(name: &str, default: T) -> T {
    let text = env::var(name).ok().filter(|text| !text.is_empty());
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdicts_agree_with_what_upstream_wrote() {
    let options = Options {
        clusters: variable("EXPLAIN_CLUSTERS", 16),
        seed: variable("EXPLAIN_SEED", 0),
        namespaces: variable("EXPLAIN_NAMESPACES", 50),
        operations: variable("EXPLAIN_OPERATIONS", 12),
    };
    let report = Box::pin(run(options)).await;
    println!("{report:?}");
    assert!(report.clusters >= options.clusters && report.pairs > report.clusters, "{report:?}");
}
