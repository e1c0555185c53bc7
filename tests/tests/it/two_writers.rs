//! Upstream and ours on the same objects at the same time.

use tests::two_writers;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cold_start_of_both_converges() {
    Box::pin(two_writers::cold_start(200)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_writes_are_counted_exactly() {
    Box::pin(two_writers::count_foreign_writes()).await;
}
