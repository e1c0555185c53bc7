//! Random operations under upstream and under ours: see [`tests::random`]. `hack/parity` sets the environment.
//!
//! | Variable | What | Default |
//! |---|---|---|
//! | `PARITY_SEEDS` | seeds of the traces, such as `1 5 7..12` | `0..2` |
//! | `PARITY_OPERATIONS` | operations of each trace | 120 |
//! | `PARITY_MAX` | `--max-endpoints-per-slice` | by the seed |
//! | `PARITY_OVERLAP` | operations between two barriers | 1 |
//! | `PARITY_TOPOLOGY` | `true` or `false`: whether Services ask for topology-aware hints | [`TOPOLOGY`] |
//! | `PARITY_CONTROLLERS` | the controllers, by the names of `--controllers`; `*` is all | `*` |
//! | `PARITY_POD_FIELD_SELECTOR` | `true` or `false`: whether ours requests only pods that may be endpoints | by the seed |
//! | `PARITY_POLICY` | `true` or `false`: whether an admission policy annotates slices | by the seed |
//! | `PARITY_SELF` | compare upstream with itself | |
//! | `PARITY_PRINT` | print the traces without running them | |

use std::env;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use tests::manager::{Controller, Kind};
use tests::random::{Options, TOPOLOGY, run, seeds};
use tests::variables::variable;

fn controllers() -> &'static [Controller] {
    let text: String = variable("PARITY_CONTROLLERS").unwrap_or_default();
    if matches!(text.as_str(), "" | "*") {
        return Controller::ALL;
    }
    let named = |name| Controller::ALL.iter().find(|controller| controller.name() == name).copied();
    let all: Option<Vec<Controller>> = text.split(',').map(named).collect();
    // Lives as long as the test.
    Vec::leak(all.unwrap_or_else(|| panic!("PARITY_CONTROLLERS={text}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_operations_leave_the_same_slices() {
    let mut sums = [0, 0];
    let mut failed = Vec::new();
    let chosen = variable("PARITY_SEEDS").unwrap_or_else(|| "0..2".to_owned());
    for seed in seeds(&chosen) {
        let options = Options {
            max: variable("PARITY_MAX"),
            overlap: variable("PARITY_OVERLAP").unwrap_or(1),
            topology: variable("PARITY_TOPOLOGY").unwrap_or(TOPOLOGY),
            controllers: controllers(),
            pod_field_selector: variable("PARITY_POD_FIELD_SELECTOR"),
            policy: variable("PARITY_POLICY"),
            candidate: if env::var_os("PARITY_SELF").is_some() { Kind::Upstream } else { Kind::Ours },
            ..Options::new(seed, variable("PARITY_OPERATIONS").unwrap_or(120))
        };
        if env::var_os("PARITY_PRINT").is_some() {
            println!("seed {seed}");
            options.trace().iter().enumerate().for_each(|(number, step)| println!("{number:4}  {step}"));
            continue;
        }
        println!(
            "seed {seed}: {} operations, at most {} endpoints in a slice",
            options.operations,
            options.max()
        );
        // A failed seed has already printed its report; it does not prevent the run of the others.
        match AssertUnwindSafe(Box::pin(run(&options))).catch_unwind().await {
            Ok(report) => {
                println!("{report}");
                let writes = report.writes();
                sums = [sums[0] + writes[0], sums[1] + writes[1]];
            }
            Err(_) => failed.push(options.command()),
        }
    }
    println!("writes in all: upstream {}, ours {}", sums[0], sums[1]);
    assert!(failed.is_empty(), "failed:\n{}", failed.join("\n"));
}
