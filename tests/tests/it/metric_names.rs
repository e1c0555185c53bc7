//! Every metric of kube-controller-manager exists here under the same name, with the same type, labels and buckets, or
//! is in a table with the reason for its absence.

use serde_json::json;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::metrics::{Exposition, Metric, Value};
use tests::scenario::{Pod, World};
use tests::wait::{self, LIMIT};

/// Metrics that appear with the first event of their kind only, which is rare.
const RARE: &[&str] = &["leader_election_slowpath_total", "rest_client_request_retries_total"];

/// The prefixes of names that only upstream has, and the reasons.
const UPSTREAM_ONLY: &[(&str, &str)] = &[
    ("aggregator_", "part of Go's API server library"),
    ("apiserver_", "part of Go's API server library"),
    ("cardinality_enforcement_", "about upstream's framework of metrics"),
    ("disabled_metrics_total", "about upstream's framework of metrics"),
    ("hidden_metrics_total", "about upstream's framework of metrics"),
    ("registered_metrics_total", "about upstream's framework of metrics"),
    ("go_", "the runtime of Go"),
    ("informer_queued_items", "events go straight from the connection to the cache, there is no queue"),
    ("node_collector_", "of a controller that does not run here"),
    ("rest_client_exec_plugin_", "plugins are called by the kube library, which does not report it"),
    ("rest_client_transport_", "connections are not kept in a cache by their configuration"),
];

/// Metrics of ours alone. Upstream has the name `running_managed_controllers`, but no series for these controllers.
const OURS_ONLY: &[&str] = &[
    "cache_lock_hold_seconds",
    "change_write_duration_seconds",
    "endpoint_slice_controller_addresses_skipped_per_sync",
    "endpoint_slice_controller_endpoints_sync_duration",
    "endpoint_slice_controller_endpoints_updated_per_sync",
    "endpoint_slice_mirroring_controller_endpointslices_changed_per_sync",
    "endpoint_slice_mirroring_controller_syncs",
    "failing_syncs",
    "foreign_writes_total",
    "leader_election_expired_leases_total",
    "leader_election_held",
    "list_watch_failures_total",
    "list_watch_gaps_total",
    "list_watch_live",
    "list_watch_unreadable_objects_total",
    "log_lines_dropped_total",
    "oldest_unwritten_change_age_seconds",
    "oldest_waiting_write_age_seconds",
    "running_managed_controllers",
    "sync_retries_total",
    "tokio_alive_tasks",
    "tokio_global_queue_depth",
    "tokio_worker_busy_seconds_total",
    "tokio_workers",
    "waiting_writes",
    "write_rate_limit",
    "write_wait_duration_seconds",
];

/// No machine is so slow that a manager loses its Lease, which is not the subject.
const FLAGS: [&str; 4] = [
    "--leader-elect=true",
    "--leader-elect-lease-duration=6m",
    "--leader-elect-renew-deadline=3m",
    "--use-service-account-credentials=true",
];

/// The metrics of a manager with leader election and service accounts, as kubeadm runs it, after some work.
async fn scrape(kind: Kind) -> Exposition {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let options = ManagerOptions {
        user: User::KubeControllerManager,
        flags: FLAGS.map(str::to_owned).to_vec(),
        ..ManagerOptions::of(Controller::ALL)
    };
    // At its start, upstream deletes Endpoints whose Service it has not seen.
    let world = World::prepare(cluster.client(), options.controllers).await;
    let mut manager = Manager::observed(kind, &cluster, &options).await;
    world.pod(Pod::new("web-0", "web", 0)).await;
    let spec =
        json!({"selector": {"app": "web"}, "ports": [{"port": 80}], "trafficDistribution": "PreferClose"});
    world.service("web", json!({}), spec).await;
    world.expect("web", "IPv4", 1, 1).await;
    world.settle().await;
    let exposition =
        wait::until("well-formed metrics", LIMIT, async || Exposition::parse(&manager.scrape().await.text))
            .await;
    manager.process().alive().unwrap();
    exposition
}

/// The stability level at the start of the help text, such as `[ALPHA]`; none for metrics that are not Kubernetes' own.
fn stability(metric: &Metric) -> Option<&str> {
    metric.help.as_deref()?.split_inclusive(']').next().filter(|word| word.starts_with('['))
}

fn bounds(metric: &Metric) -> Vec<Vec<f64>> {
    let histograms = metric.series.values().filter_map(|value| match value {
        Value::Histogram(histogram) => Some(histogram.bounds()),
        Value::Number(_) => None,
    });
    let mut bounds: Vec<Vec<f64>> = histograms.collect();
    bounds.dedup();
    bounds
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_types_labels_and_buckets() {
    let (upstream, ours) = tokio::join!(Box::pin(scrape(Kind::Upstream)), Box::pin(scrape(Kind::Ours)));
    let reason = |name: &str| UPSTREAM_ONLY.iter().find(|(beginning, _)| name.starts_with(beginning));
    let mut excuses = UPSTREAM_ONLY.to_vec();
    for (name, theirs) in upstream.metrics.iter().filter(|(name, _)| !RARE.contains(&name.as_str())) {
        if let Some(reason) = reason(name) {
            excuses.retain(|excuse| excuse != reason);
            assert!(!ours.metrics.contains_key(name), "{name} is here, so there is no reason why it isn't");
            continue;
        }
        let metric = ours.metrics.get(name).unwrap_or_else(|| panic!("upstream also has {name}"));
        assert_eq!((metric.kind, metric.label_names()), (theirs.kind, theirs.label_names()), "{name}");
        assert_eq!(metric.label_names().len(), 1, "{name} has one set of labels");
    }
    assert!(excuses.is_empty(), "upstream has nothing of {excuses:?}");
    let more = ours.metrics.keys().filter(|name| !upstream.metrics.contains_key(*name));
    let more: Vec<&String> = more.filter(|name| !RARE.contains(&name.as_str())).collect();
    assert_eq!(more, OURS_ONLY);

    for (name, metric) in &ours.metrics {
        let Some(upstream) = upstream.metrics.get(name) else { continue };
        assert_eq!(stability(metric), stability(upstream), "{name}");
        // Upstream's native histograms, of which there is text only here.
        if bounds(upstream) != [[f64::INFINITY]] {
            assert_eq!(bounds(metric), bounds(upstream), "{name}");
        }
    }
}
