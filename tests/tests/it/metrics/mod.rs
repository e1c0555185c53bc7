//! The metrics of the controllers and their queues, scraped from upstream and from ours after the same workload: the same
//! names, types, labels and buckets, and the same values where the workload determines them.
//!
//! | Determined | Not determined, and why |
//! |---|---|
//! | `changes`: every change of the script is synced before the next | `syncs`, `workqueue_adds_total`, `workqueue_retries_total`, the counts and buckets of all histograms: the number of events that share a sync is a matter of timing, and ours syncs less, as it expects the events of its own writes |
//! | gauges of endpoints, slices and Services, while every Service has one family | the gauges with dual-stack Services: upstream's cache holds the family that was synced last (kubernetes#126004), ours holds both |
//! | the *sums* of the `…_per_sync` histograms: a sync more adds 0 | sums of durations, and of `addresses_skipped_per_sync`: what is skipped is skipped in every sync |
//! | `workqueue_depth` and the two gauges about running work: 0 at rest | `syncs{result="stale"}`: there only if a cache was late |

mod endpointslice;
mod mirroring;
pub(crate) mod promtool;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use tests::audit::Request;
use tests::barrier;
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Kind, Manager, ManagerOptions};
use tests::metrics::{Exposition, Labels, Value};
use tests::scenario::World;
use tests::wait::{self, LIMIT};

/// A controller and its metrics.
#[derive(Clone, Copy)]
struct Subject {
    options: fn() -> ManagerOptions,
    /// The name of its queue.
    queue: &'static str,
    /// The prefix of its own metrics.
    prefix: &'static str,
    /// The number of syncs that its own metrics show.
    syncs: fn(&Exposition) -> Option<f64>,
    /// The writes of slices that `changes` counts without exception.
    counted: &'static [&'static str],
    /// The number of slices that the barrier objects get.
    barrier_slices: usize,
}

impl Subject {
    /// True for the series that are compared.
    fn shows_in(&self, name: &str, labels: &Labels) -> bool {
        let queue = || labels.get("name").is_some_and(|name| name == self.queue);
        // Occurs only when a cache was late, which no workload can ensure.
        let stale = labels.get("result").is_some_and(|result| result == "stale");
        let own = name.starts_with(self.prefix);
        (own && !stale) || (name.starts_with("workqueue_") && queue())
    }
}

/// The metrics and objects of one manager after a workload.
struct Observation {
    content_type: String,
    /// The text as scraped.
    text: String,
    /// The metrics of the subject.
    metrics: Exposition,
}

async fn observe(subject: Subject, kind: Kind, script: impl AsyncFn(&World)) -> Observation {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let options = (subject.options)();
    let mark = cluster.audit().mark();
    let mut manager = Manager::observed(kind, &cluster, &options).await;
    let mut world = World::prepare(cluster.client(), options.controllers).await;
    world.watch_workers(manager.pages());
    barrier_has_slices(&world, subject.barrier_slices).await;
    world.sync().await;
    script(&world).await;
    world.settle().await;
    let what = format!("consistent metrics of {}", kind.name());
    let observation = wait::until(&what, LIMIT, async || {
        let scrape = manager.scrape().await;
        let metrics = Exposition::parse(&scrape.text)?;
        at_rest(subject, &metrics)?;
        agrees_with_audit(subject, &metrics, &cluster.audit().writes_since(mark, options.user))?;
        let metrics = metrics.only(|name, labels| subject.shows_in(name, labels));
        Ok::<_, String>(Observation { content_type: scrape.content_type, text: scrape.text, metrics })
    })
    .await;
    manager.process().alive().unwrap();
    observation
}

/// Waits until the barrier's Services have slices. From then on every change is a separate write: the first of a
/// barrier could be merged with the creation.
async fn barrier_has_slices(world: &World, expected: usize) {
    let slices: Api<EndpointSlice> = Api::namespaced(world.client().clone(), barrier::NAMESPACE);
    wait::until("slices of the barrier objects", LIMIT, async || {
        let found = slices.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items.len();
        if found == expected { Ok(()) } else { Err(format!("{found} slices")) }
    })
    .await;
}

/// Checks that the queue is empty, and that its metrics agree with those of the controller.
fn at_rest(subject: Subject, metrics: &Exposition) -> Result<(), String> {
    let queue = &[("name", subject.queue)];
    for gauge in ["depth", "unfinished_work_seconds", "longest_running_processor_seconds"] {
        expect(gauge, 0.0, metrics.number(&format!("workqueue_{gauge}"), queue))?;
    }
    let adds = metrics.number("workqueue_adds_total", queue).ok_or("no workqueue_adds_total")?;
    for histogram in ["queue_duration_seconds", "work_duration_seconds"] {
        let found = metrics.histogram(&format!("workqueue_{histogram}"), queue);
        expect(histogram, adds, found.and_then(|histogram| histogram.count))?;
    }
    expect("syncs", adds, (subject.syncs)(metrics))
}

/// Checks that every successful write is counted, and nothing else.
fn agrees_with_audit(subject: Subject, metrics: &Exposition, writes: &[Request]) -> Result<(), String> {
    for operation in subject.counted {
        let of_slices = writes.iter().filter(|request| request.resource == "endpointslices");
        let count = of_slices.filter(|request| request.verb == *operation && request.code < 300).count();
        let found = metrics.number(&format!("{}changes", subject.prefix), &[("operation", operation)]);
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

/// Runs both managers with the same workload.
async fn both(subject: Subject, script: impl AsyncFn(&World) + Copy) -> (Observation, Observation) {
    let of = |kind| Box::pin(observe(subject, kind, script));
    tokio::join!(of(Kind::Upstream), of(Kind::Ours))
}

/// All values that a script determines, with names for messages.
fn determined(metrics: &Exposition) -> BTreeMap<String, f64> {
    let histograms = [
        "endpoints_added_per_sync",
        "endpoints_updated_per_sync",
        "endpoints_removed_per_sync",
        "endpointslices_changed_per_sync",
    ];
    let numbers = [
        "changes",
        "endpoints_desired",
        "num_endpoint_slices",
        "desired_endpoint_slices",
        "_by_traffic_distribution",
    ];
    let mut values = BTreeMap::new();
    let is_one_of = |name: &str, names: &[&str]| names.iter().any(|end| name.ends_with(end));
    for (name, metric) in &metrics.metrics {
        for (labels, value) in &metric.series {
            let value = match value {
                Value::Histogram(found) if is_one_of(name, &histograms) => found.sum.unwrap(),
                Value::Number(found) if is_one_of(name, &numbers) => *found,
                _ => continue,
            };
            values.insert(format!("{name} {labels:?}"), value);
        }
    }
    values
}

/// Checks that ours has upstream's series and values, of which there must be this number.
fn same_series_and_figures(upstream: &Observation, ours: &Observation, figures: usize) {
    assert_eq!(ours.content_type, upstream.content_type);
    promtool::check(&upstream.text, &ours.text);
    let (upstream, ours) = (&upstream.metrics, &ours.metrics);
    let mut failures = upstream.missing_in(ours);
    let (wanted, found) = (determined(upstream), determined(ours));
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
    assert_eq!(wanted.len(), figures, "{wanted:#?}");
    assert!(failures.is_empty(), "{}\n{table}", failures.join("\n"));
}
