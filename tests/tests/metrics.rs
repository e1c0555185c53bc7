//! The metrics of the EndpointSlice controller and its queue, scraped from upstream and from ours after the same
//! workload: the same names, types, labels and buckets, and the same values where the workload determines them.
//!
//! | Determined | Not determined, and why |
//! |---|---|
//! | `changes`: every change of the script is synced before the next | `syncs`, `workqueue_adds_total`, `workqueue_retries_total`, the counts and buckets of all histograms: how many events share a sync is a matter of timing, and ours syncs less, as it knows the echo of its own writes |
//! | gauges of endpoints, slices and Services, while every Service has one family | the gauges with dual-stack Services: upstream's cache holds the family that was synced last (kubernetes#126004), ours holds both |
//! | the *sums* of the `…_per_sync` histograms: a sync more adds 0 | sums of durations |
//! | `workqueue_depth` and the two gauges about running work: 0 at rest | `syncs{result="stale"}`: there only if a cache was late |
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helper functions too"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tests::audit::Request;
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Kind, ManagerOptions};
use tests::metrics::{Exposition, Labels, Observed, Scrape};
use tests::scenario::{Pod, World};
use tests::sentinel;
use tests::wait::{self, LIMIT};
use tests::workload::PHASES;

const V4: &str = "IPv4";
const QUEUE: &[(&str, &str)] = &[("name", "endpoint_slice")];
const CHANGES: &str = "endpoint_slice_controller_changes";
const CHANGED_PER_SYNC: &str = "endpoint_slice_controller_endpointslices_changed_per_sync";

/// What is compared.
fn of_the_controller(name: &str, labels: &Labels) -> bool {
    let queue = || labels.get("name").is_some_and(|name| name == "endpoint_slice");
    // Only when a cache was late, which no workload brings about for sure.
    let stale = labels.get("result").is_some_and(|result| result == "stale");
    (name.starts_with("endpoint_slice_controller_") && !stale) || (name.starts_with("workqueue_") && queue())
}

/// What one manager showed after a workload.
struct Observation {
    scrape: Scrape,
    metrics: Exposition,
}

async fn observe(kind: Kind, script: impl AsyncFn(&World)) -> Observation {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let options = ManagerOptions::default();
    let mark = cluster.audit().mark();
    let mut observed = Observed::start(kind, &cluster, &options).await;
    let world = World::prepare(cluster.client(), ManagerOptions::default().controllers).await;
    sentinels_have_slices(&world).await;
    world.sync().await;
    script(&world).await;
    world.settle().await;
    let what = format!("consistent metrics of {}", kind.name());
    let observation = wait::until(&what, LIMIT, async || {
        let scrape = observed.scrape().await;
        let metrics = Exposition::parse(&scrape.text)?;
        at_rest(&metrics)?;
        agrees_with_audit(&metrics, &cluster.audit().writes_since(mark, options.user))?;
        Ok::<_, String>(Observation { scrape, metrics: metrics.only(of_the_controller) })
    })
    .await;
    observed.manager.process().alive().unwrap();
    observation
}

/// From here on every change is a write of its own: the first of a sentinel could be one with its creation.
async fn sentinels_have_slices(world: &World) {
    let slices: Api<EndpointSlice> = Api::namespaced(world.client().clone(), sentinel::NAMESPACE);
    wait::until("slices of the sentinels", LIMIT, async || {
        let found = slices.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items.len();
        if found == 2 { Ok(()) } else { Err(format!("{found} slices")) }
    })
    .await;
}

/// The queue is empty, and its metrics and those of the controller tell the same story.
fn at_rest(metrics: &Exposition) -> Result<(), String> {
    for gauge in ["depth", "unfinished_work_seconds", "longest_running_processor_seconds"] {
        expect(gauge, 0.0, metrics.number(&format!("workqueue_{gauge}"), QUEUE))?;
    }
    let adds = metrics.number("workqueue_adds_total", QUEUE).ok_or("no workqueue_adds_total")?;
    for histogram in ["queue_duration_seconds", "work_duration_seconds"] {
        let found = metrics.histogram(&format!("workqueue_{histogram}"), QUEUE);
        expect(histogram, adds, found.and_then(|histogram| histogram.count))?;
    }
    let syncs = ["success", "stale", "error"].map(|result| {
        metrics.number("endpoint_slice_controller_syncs", &[("result", result)]).unwrap_or_default()
    });
    expect("syncs", adds, Some(syncs.iter().sum()))
}

/// Every successful write is counted, and nothing else is.
fn agrees_with_audit(metrics: &Exposition, writes: &[Request]) -> Result<(), String> {
    for operation in ["create", "update", "delete"] {
        let of_slices = writes.iter().filter(|request| request.resource == "endpointslices");
        let count = of_slices.filter(|request| request.verb == operation && request.code < 300).count();
        let found = metrics.number(CHANGES, &[("operation", operation)]);
        expect(operation, as_f64(count), Some(found.unwrap_or_default()))?;
    }
    Ok(())
}

fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

fn expect(what: &str, wanted: f64, found: Option<f64>) -> Result<(), String> {
    let equal = found.is_some_and(|found| found.total_cmp(&wanted).is_eq());
    if equal { Ok(()) } else { Err(format!("{what} is {found:?}, not {wanted}")) }
}

fn big(number: u16) -> Pod {
    let generation = if number < 130 { "1" } else { "2" };
    Pod::new(&format!("big-{number}"), "big", 0x1000 + number).label("generation", generation)
}

fn web(number: u16) -> Pod {
    Pod::new(&format!("web-{number}"), "web", number).node(if number.is_multiple_of(2) { "a" } else { "b" })
}

fn spec(app: &str, more: Value) -> Value {
    let mut spec = json!({"selector": {"app": app}, "ports": [{"name": "http", "port": 80}]});
    let Value::Object(more) = more else { unreachable!("specs are objects") };
    spec.as_object_mut().unwrap().extend(more);
    spec
}

/// Services of one family each, and at least one observation of every label value but `stale`. No Service is touched
/// twice without a sync in between.
async fn single_stack(w: &World) {
    w.pods((0..8).map(web)).await;
    w.pods((0..250).map(big)).await;
    w.pod(Pod::new("lost-0", "lost", 100)).await;
    // Its node never comes: the Service is retried, with result="error", until the end.
    w.pod(Pod::new("lost-1", "lost", 101).node("missing")).await;
    w.sync().await;
    for (name, app, more) in [
        ("plain", "web", json!({})),
        ("six", "web", json!({"ipFamilies": ["IPv6"]})),
        ("close", "web", json!({"trafficDistribution": "PreferClose"})),
        ("zone", "web", json!({"trafficDistribution": "PreferSameZone"})),
        ("node", "web", json!({"trafficDistribution": "PreferSameNode"})),
        ("fickle", "web", json!({"trafficDistribution": "PreferClose"})),
        ("auto", "web", json!({})),
        ("both", "web", json!({"trafficDistribution": "PreferSameZone"})),
        ("headless", "web", json!({"clusterIP": "None"})),
        ("leaving", "web", json!({})),
        ("abandoned", "web", json!({})),
        ("doomed", "web", json!({})),
        ("empty", "nobody", json!({})),
        ("lost", "lost", json!({})),
        ("external", "web", json!({"type": "ExternalName", "externalName": "example.com"})),
        ("big", "big", json!({"selector": {"app": "big", "generation": "1"}})),
    ] {
        w.service(name, json!({}), spec(app, more)).await;
    }
    w.expect_sizes("big", V4, &[100, 30]).await;
    w.expect("lost", V4, 1, 1).await;
    w.sync().await;
    changes_of_services(w).await;
    w.ready("web-0", false).await;
    w.sync().await;
    w.terminate("web-1").await;
    w.sync().await;
    w.gone("web-1").await;
    w.sync().await;
    w.pod(web(8)).await;
    w.expect("plain", V4, 8, 7).await;
    w.expect("both", V4, 8, 7).await;
}

async fn changes_of_services(w: &World) {
    let auto = || json!({"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}});
    w.change_service("auto", auto()).await;
    w.change_service("both", auto()).await;
    w.change_service("big", json!({"spec": {"selector": {"generation": null}}})).await;
    w.change_service("close", json!({"spec": {"trafficDistribution": "PreferSameNode"}})).await;
    w.change_service("zone", json!({"spec": {"trafficDistribution": null}})).await;
    w.change_service("fickle", json!({"spec": {"trafficDistribution": "PreferSameZone"}})).await;
    w.change_service("abandoned", json!({"spec": {"selector": null}})).await;
    let external = json!({"type": "ExternalName", "externalName": "example.com", "clusterIP": null,
        "clusterIPs": null, "ipFamilies": null, "ipFamilyPolicy": null});
    w.change_service("leaving", json!({"spec": external})).await;
    w.delete_service("doomed").await;
    w.expect_sizes("big", V4, &[100, 100, 50]).await;
    w.sync().await;
    // Of three slices one goes, one loses the first generation, and one stays. Not after the change of ports: upstream
    // mixes generations at random then.
    w.change_service("big", json!({"spec": {"selector": {"generation": "2"}}})).await;
    // Nobody collects the slices of the Service before: its successor replaces them.
    w.service("doomed", json!({}), spec("web", json!({"trafficDistribution": "PreferClose"}))).await;
    w.sync().await;
    w.change_service("big", json!({"spec": {"ports": [{"name": "http", "port": 80, "targetPort": 81}]}}))
        .await;
    w.change_service("fickle", json!({"spec": {"trafficDistribution": "PreferSameNode"}})).await;
    w.sync().await;
    w.delete_service("node").await;
}

/// Everything that [`single_stack`] determines, under a name for messages.
fn determined(metrics: &Exposition) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    let histograms = ["endpoints_added_per_sync", "endpoints_removed_per_sync", CHANGED_PER_SYNC];
    let numbers = ["changes", "endpoints_desired", "num_endpoint_slices", "desired_endpoint_slices"];
    let is_one_of = |name: &str, names: &[&str]| names.iter().any(|end| name.ends_with(end));
    for (name, metric) in &metrics.metrics {
        for (labels, value) in &metric.series {
            let value = match value {
                tests::metrics::Value::Histogram(found) if is_one_of(name, &histograms) => found.sum.unwrap(),
                tests::metrics::Value::Number(found)
                    if is_one_of(name, &numbers) || name.ends_with("_by_traffic_distribution") =>
                {
                    *found
                }
                _ => continue,
            };
            values.insert(format!("{name} {labels:?}"), value);
        }
    }
    values
}

/// Both managers, after the same workload.
async fn both(script: impl AsyncFn(&World) + Copy) -> (Observation, Observation) {
    tokio::join!(Box::pin(observe(Kind::Upstream, script)), Box::pin(observe(Kind::Ours, script)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn series_and_figures_of_single_stack_services() {
    let (upstream, ours) = both(single_stack).await;
    let mut failures = upstream.metrics.missing_in(&ours.metrics);
    let (wanted, found) = (determined(&upstream.metrics), determined(&ours.metrics));
    let mut table = String::new();
    for (name, value) in &wanted {
        let ours = found.get(name);
        writeln!(table, "{name:110} {value:>8} {:>8}", ours.map_or("-".to_owned(), ToString::to_string))
            .unwrap();
        if let Err(reason) = expect(name, *value, ours.copied()) {
            failures.push(reason);
        }
    }
    println!("upstream and ours\n{table}");
    // The script reaches what it is meant to reach.
    let distributions = ["PreferClose", "PreferSameZone", "PreferSameNode", ""];
    for distribution in distributions {
        let labels = &[("topology", "Disabled"), ("traffic_distribution", distribution)];
        assert!(upstream.metrics.histogram(CHANGED_PER_SYNC, labels).is_some(), "{labels:?}");
    }
    assert_eq!(wanted.len(), 3 + 3 + 3 + 2 + 5, "{wanted:#?}");
    assert!(failures.is_empty(), "{}\n{table}", failures.join("\n"));
    check_with_promtool(&upstream.scrape, &ours.scrape);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn series_of_the_whole_workload() {
    let (upstream, ours) = both(async |world| {
        for phase in PHASES {
            phase.run(world).await;
        }
    })
    .await;
    let missing = upstream.metrics.missing_in(&ours.metrics);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert_eq!(ours.scrape.content_type, "text/plain; version=0.0.4; charset=utf-8");
}

/// Prometheus' own tool reads what ours serves, and complains of nothing that it would not complain of in upstream.
fn check_with_promtool(upstream: &Scrape, ours: &Scrape) {
    let (Some(accepted), Some(found)) = (promtool(&upstream.text), promtool(&ours.text)) else {
        // Not `eprintln!`, which is only shown if the test fails.
        let mut stderr = std::io::stderr();
        writeln!(stderr, "SKIPPED: `promtool check metrics`: promtool is not installed").unwrap();
        return;
    };
    let more: Vec<&str> =
        found.lines().filter(|line| !accepted.lines().any(|known| known == *line)).collect();
    assert!(more.is_empty(), "promtool check metrics:\n{}", more.join("\n"));
}

/// What the tool complains of, about style; none if it is not installed.
fn promtool(text: &str) -> Option<String> {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        child => child.unwrap(),
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // 3 is for style; anything else means that it could not read the text.
    assert!(matches!(output.status.code(), Some(0 | 3)), "promtool: {}: {said}", output.status);
    Some(said)
}
