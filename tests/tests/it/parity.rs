//! The same workload under upstream and under ours, on a fresh API server each: slices and Endpoints are equal after
//! every phase, and ours made no more writes.

use tests::manager::{Controller, Kind, ManagerOptions};
use tests::parity::{Record, compare, run, table};
use tokio::sync::OnceCell;

/// The record of upstream's run, made once for all tests.
async fn reference() -> &'static [Record] {
    static REFERENCE: OnceCell<Vec<Record>> = OnceCell::const_new();
    REFERENCE.get_or_init(|| run(Kind::Upstream, ManagerOptions::of(Controller::ALL))).await
}

/// The records of upstream and of a candidate with these flags.
async fn records(
    kind: Kind,
    controllers: &'static [Controller],
    flags: &[&str],
) -> (&'static [Record], Vec<Record>) {
    let flags = flags.iter().map(ToString::to_string).collect();
    let options = ManagerOptions { flags, ..ManagerOptions::of(controllers) };
    let (reference, candidate) = tokio::join!(Box::pin(reference()), Box::pin(run(kind, options)));
    let names = Controller::list(controllers);
    println!("upstream and {}, {names}\n{}", kind.name(), table(reference, &candidate, controllers));
    (reference, candidate)
}

async fn compare_with_upstream(kind: Kind, controllers: &'static [Controller], flags: &[&str]) {
    let (reference, candidate) = records(kind, controllers, flags).await;
    compare(reference, &candidate, controllers);
}

/// A difference between two runs of the same program is a fault of the workload or of the comparison: this test is the
/// basis of the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_agrees_with_itself() {
    compare_with_upstream(Kind::Upstream, Controller::ALL, &[]).await;
}

/// All pods are requested, as upstream does, so that everything is equal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_agrees_with_upstream() {
    compare_with_upstream(Kind::Ours, Controller::ALL, &["--enable-pod-field-selector=false"]).await;
}

/// Everything but the times at which pods end is equal, the number of writes included.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_agrees_with_upstream_without_pods_that_are_no_endpoints() {
    let (reference, candidate) = records(Kind::Ours, Controller::ALL, &[]).await;
    let undated =
        |records: &[Record]| records.iter().cloned().map(Record::without_ends_of_pods).collect::<Vec<_>>();
    compare(&undated(reference), &undated(&candidate), Controller::ALL);
}

/// A controller alone does the same as alongside the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_endpointslice_controller_alone_agrees_in_json() {
    let flags = &["--kube-api-content-type=application/json", "--enable-pod-field-selector=false"];
    compare_with_upstream(Kind::Ours, &[Controller::EndpointSlice], flags).await;
}
