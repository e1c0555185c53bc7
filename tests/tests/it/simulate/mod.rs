//! `simulate` on dumps of a real cluster that upstream's controllers settled, and on the manifests that it shows first.
//!
//! After random histories its `--diff` is checked by [`random_parity`](crate::random_parity).

mod samples;

use tests::manager::Kind;
use tests::parity::Run;
use tests::simulate::{changes, dump};
use tests::workload::PHASES;

/// The whole workload of the parity tests, settled by upstream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settled_cluster_has_no_differences() {
    let run = Run::start(Kind::Upstream).await;
    run.record(PHASES).await;
    run.world.settle().await;
    let found = changes(&dump(run.world.client()).await, &[]);
    // Upstream writes some Endpoints at every sync; ours does not.
    assert_eq!(found, []);
}
