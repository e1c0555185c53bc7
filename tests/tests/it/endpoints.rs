//! The Endpoints controller beyond the common workload: Services with more pods than Endpoints hold, named ports that
//! differ from pod to pod, and its cost beside the EndpointSlice controller.

use std::collections::{BTreeMap, BTreeSet};

use tests::audit::Request;
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::over_capacity;
use tests::parity::{Run, compare, table, written};

const ENDPOINTS: &[Controller] = &[Controller::Endpoints];

/// Upstream needs up to a second for one sync of 2,500 pods. With one worker, all earlier syncs are complete when it
/// reaches the barrier objects.
const FLAGS: &[&str] = &["--concurrent-endpoint-syncs=1"];

async fn start(kind: Kind) -> Run {
    let flags = FLAGS.iter().map(ToString::to_string).collect();
    Run::start_as(kind, ManagerOptions { flags, ..ManagerOptions::of(ENDPOINTS) }).await
}

async fn hand_over(run: Run, kind: Kind) -> (Run, Vec<Request>) {
    Box::pin(run.succeeded_by(kind, FLAGS)).await
}

fn assert_nothing_written(who: &str, requests: &[Request]) {
    let texts: Vec<String> = requests.iter().map(ToString::to_string).collect();
    assert!(texts.is_empty(), "{who} wrote:\n{}", texts.join("\n"));
}

/// Over capacity and below, the objects equal upstream's, with no more writes; and a take-over writes nothing, except for the
/// writes that upstream makes after itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_over_capacity_agree_and_are_taken_over() {
    let (upstream, ours) = tokio::join!(Box::pin(start(Kind::Upstream)), Box::pin(start(Kind::Ours)));
    let (reference, candidate) = tokio::join!(
        Box::pin(upstream.record(over_capacity::PHASES)),
        Box::pin(ours.record(over_capacity::PHASES))
    );
    println!("{}", table(&reference, &candidate, ENDPOINTS));
    compare(&reference, &candidate, ENDPOINTS);

    let (upstream, repeated) = hand_over(upstream, Kind::Upstream).await;
    let (ours, by_upstream) = hand_over(ours, Kind::Upstream).await;
    let expected: BTreeSet<String> =
        over_capacity::WRITTEN_AT_EVERY_SYNC.iter().map(|name| format!("endpoints {name}")).collect();
    assert_eq!(written(&repeated), expected, "upstream after itself");
    assert_eq!(written(&by_upstream), expected, "upstream after ours");
    let (_, after_upstream) = hand_over(upstream, Kind::Ours).await;
    assert_nothing_written("ours after upstream", &after_upstream);
    let (_, after_both) = hand_over(ours, Kind::Ours).await;
    assert_nothing_written("ours after upstream after ours", &after_both);
}

/// Objects are watched, decoded and cached once, for any number of controllers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_controllers_share_one_watch_of_each_kind() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let options = ManagerOptions::of(Controller::ALL);
    let mark = cluster.audit().mark();
    let manager = Manager::ours(&cluster, &options).await;
    // A ready manager has begun all of its watches.
    let watched = cluster.audit().list_watches_since(mark, options.user);
    let kinds = ["endpoints", "endpointslices", "nodes", "pods", "services"];
    assert_eq!(watched, BTreeMap::from(kinds.map(|kind| (kind.to_owned(), 1))));
    manager.stop().await;
}
