//! Take-over of a settled cluster: ours finds every object as it would have made it, and writes nothing; upstream
//! writes only the objects that it also writes again after itself.

use tests::manager::Kind;
use tests::parity::{Run, written};
use tests::workload::{PHASES, WRITTEN_AT_EVERY_SYNC};

/// Runs the workload under one, and then starts the other in its place.
async fn hand_over(first: Kind, second: Kind) {
    let run = Run::start(first).await;
    run.record(PHASES).await;
    let requests = Box::pin(run.hand_over(second)).await;
    let expected = match second {
        Kind::Upstream => WRITTEN_AT_EVERY_SYNC,
        Kind::Ours => &[],
    };
    let texts: Vec<String> = requests.iter().map(ToString::to_string).collect();
    assert_eq!(
        written(&requests),
        expected.iter().map(|name| format!("endpoints {name}")).collect(),
        "{} after {}:\n{}",
        second.name(),
        first.name(),
        texts.join("\n")
    );
}

/// The rules of the other tests can be met, and their exceptions are due to upstream itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_after_upstream() {
    hand_over(Kind::Upstream, Kind::Upstream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_after_upstream() {
    hand_over(Kind::Upstream, Kind::Ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_after_ours() {
    hand_over(Kind::Ours, Kind::Upstream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_after_ours() {
    hand_over(Kind::Ours, Kind::Ours).await;
}
