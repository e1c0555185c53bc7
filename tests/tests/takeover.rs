//! A settled cluster changes hands: the successor finds everything as it would have made it, and writes nothing.

use tests::manager::Kind;
use tests::parity::Run;
use tests::workload::PHASES;

/// The workload under one, then the other in its place.
async fn nothing_is_written(first: Kind, second: Kind) {
    let run = Run::start(first).await;
    run.record(PHASES).await;
    let writes = Box::pin(run.hand_over(second)).await;
    let writes: Vec<String> = writes.iter().map(ToString::to_string).collect();
    assert!(writes.is_empty(), "{} wrote after {}:\n{}", second.name(), first.name(), writes.join("\n"));
}

/// A restart of upstream itself writes nothing on this workload: what the other tests ask for is possible.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_after_upstream() {
    nothing_is_written(Kind::Upstream, Kind::Upstream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_after_upstream() {
    nothing_is_written(Kind::Upstream, Kind::Ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_after_ours() {
    nothing_is_written(Kind::Ours, Kind::Upstream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_after_ours() {
    nothing_is_written(Kind::Ours, Kind::Ours).await;
}
