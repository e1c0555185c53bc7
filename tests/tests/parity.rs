//! The same workload under upstream and under ours, on a fresh API server each: the slices are equal after
//! every phase, and ours made no more writes.

use tests::manager::Kind;
use tests::parity::{Record, compare, run, table};
use tokio::sync::OnceCell;

/// What upstream does with the workload, found out once for both tests.
async fn reference() -> &'static [Record] {
    static REFERENCE: OnceCell<Vec<Record>> = OnceCell::const_new();
    REFERENCE.get_or_init(|| run(Kind::Upstream, &[])).await
}

async fn compare_with_upstream(kind: Kind, flags: &[&str]) {
    let (reference, candidate) = tokio::join!(Box::pin(reference()), Box::pin(run(kind, flags)));
    println!("upstream and {}\n{}", kind.name(), table(reference, &candidate));
    compare(reference, &candidate);
}

/// What differs between two runs of the same program is the workload's fault or the comparison's: without this
/// test, the other one could not be trusted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_agrees_with_itself() {
    compare_with_upstream(Kind::Upstream, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_agrees_with_upstream() {
    compare_with_upstream(Kind::Ours, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_agrees_with_upstream_in_json() {
    compare_with_upstream(Kind::Ours, &["--kube-api-content-type=application/json"]).await;
}
