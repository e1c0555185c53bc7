//! The figures as text.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tests::metrics::{Exposition, Histogram};
use tests::process::Usage;

use crate::cluster::Cluster;
use crate::kinds::{Kind, Objects};
use crate::subject::{holds, line, syncs};
use crate::tally::Tally;

/// The counts and sizes of a cluster.
pub(crate) fn cluster(objects: &Objects) -> String {
    let size = |kind| {
        let mut raw = Vec::new();
        objects.encode(kind, 0, &mut raw);
        raw.len()
    };
    let kinds = Kind::ALL.map(|kind| format!("{} {:?} of {} bytes", objects.count(kind), kind, size(kind)));
    format!("{}; {} namespaces", kinds.join(", "), objects.world.namespaces)
}

/// The start: when the caches were filled, and when all plans were made.
pub(crate) fn start(
    cluster: &Cluster,
    (filled, filled_at): (Usage, Duration),
    (planned, planned_at): (Usage, Duration),
    metrics: &Exposition,
) -> String {
    let pods = cluster.objects.world.pods as f64;
    let mut text = String::new();
    let listed = cluster.listed.load(Ordering::Relaxed) as f64;
    writeln!(text, "caches filled: after {:.1} s; {}", filled_at.as_secs_f64(), line(filled)).unwrap();
    writeln!(
        text,
        "  {:.2} GB read, {:.0} bytes of RSS a pod, {:.1} µs of CPU a pod",
        listed / 1e9,
        filled.rss as f64 / pods,
        filled.cpu.as_secs_f64() * 1e6 / pods
    )
    .unwrap();
    writeln!(text, "plans made: after {:.1} s; {}", planned_at.as_secs_f64(), line(planned)).unwrap();
    writeln!(
        text,
        "  {:.2} CPU s after the caches; {} syncs of slices; {} writes, {} other requests, {} streamed lists",
        (planned.cpu.saturating_sub(filled.cpu)).as_secs_f64(),
        syncs(metrics),
        cluster.writes.load(Ordering::Relaxed),
        cluster.others.load(Ordering::Relaxed),
        cluster.lists.load(Ordering::Relaxed)
    )
    .unwrap();
    for access in ["read", "write"] {
        writeln!(text, "  {}", hold_line(access, &holds(metrics, access))).unwrap();
    }
    text
}

/// The figures of the start in the form of hack/bench: that of a new process on a settled cluster.
pub(crate) fn json(pods: usize, planned: Usage, at: Duration, writes: u64) -> String {
    let median = json!({
        "seconds": at.as_secs_f64(), "cpu_seconds": planned.cpu.as_secs_f64(),
        "peak_megabytes": planned.peak_rss as f64 / 1e6, "writes": writes,
    });
    let phases = json!({"restart": {"ours": {"median": median}}});
    let value = json!({"scenarios": [{"name": format!("{pods} pods"), "phases": phases}]});
    serde_json::to_string_pretty(&value).expect("JSON") + "\n"
}

/// A time in which pods changed.
pub(crate) struct Churn {
    pub(crate) events: u64,
    pub(crate) writes: u64,
    pub(crate) before: Usage,
    /// The time of the last event, and the usage then.
    pub(crate) ended: (Duration, Usage),
    pub(crate) after: Usage,
    /// CPU of this process while events came.
    pub(crate) harness: Duration,
}

pub(crate) fn churn(cluster: &Cluster, churn: &Churn, begun: &Exposition, metrics: &Exposition) -> String {
    let Churn { events, writes, before, ended: (took, at_end), after, harness } = churn;
    let mut text = String::new();
    let seconds = took.as_secs_f64();
    writeln!(
        text,
        "{events} events in {seconds:.1} s, {:.0} a second; {writes} writes",
        *events as f64 / seconds
    )
    .unwrap();
    writeln!(
        text,
        "  CPU {:.2} s while they came, and {:.2} s of the server; {:.2} s until all was written, {:.0} µs an event; then {}",
        at_end.cpu.saturating_sub(before.cpu).as_secs_f64(),
        harness.as_secs_f64(),
        after.cpu.saturating_sub(before.cpu).as_secs_f64(),
        after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e6 / *events as f64,
        line(*after)
    )
    .unwrap();
    for (name, tally) in [("slices", &cluster.slices), ("Endpoints", &cluster.endpoints)] {
        writeln!(text, "  {name}: {}", delays(tally)).unwrap();
    }
    for access in ["read", "write"] {
        let since = since(&holds(begun, access), &holds(metrics, access));
        writeln!(text, "  {}", hold_line(access, &since)).unwrap();
    }
    text
}

fn delays(tally: &Tally) -> String {
    let sorted = tally.delays();
    let at = |permille: usize| {
        let index = (sorted.len() * permille).div_ceil(1_000).saturating_sub(1);
        sorted.get(index).map_or(0.0, |micros| f64::from(*micros) / 1e3)
    };
    format!(
        "event to request, ms: p50 {:.1}, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, slowest {:.1}; {} of {} \
         are missing, {} were undone before",
        at(500),
        at(900),
        at(990),
        at(999),
        at(1_000),
        tally.waiting(),
        tally.waiting() + sorted.len(),
        tally.superseded()
    )
}

/// The observations of a histogram after an earlier scrape.
fn since(begun: &Histogram, now: &Histogram) -> Histogram {
    let earlier = |bound: f64| {
        begun.buckets.iter().find(|(of, _)| of.total_cmp(&bound).is_eq()).map_or(0.0, |(_, count)| *count)
    };
    Histogram {
        buckets: now.buckets.iter().map(|(bound, count)| (*bound, count - earlier(*bound))).collect(),
        sum: Some(now.sum.unwrap_or_default() - begun.sum.unwrap_or_default()),
        count: Some(now.count.unwrap_or_default() - begun.count.unwrap_or_default()),
    }
}

fn hold_line(access: &str, holds: &Histogram) -> String {
    let count = holds.count.unwrap_or_default();
    let within = |part: f64| {
        let bound = holds.buckets.iter().find(|(_, below)| *below >= count * part);
        bound.map_or(f64::NAN, |(bound, _)| bound * 1e3)
    };
    format!(
        "lock held to {access}: {count} times, {:.2} s in all; ms: p50 <= {}, p99 <= {}, p99.9 <= {}, longest <= {}",
        holds.sum.unwrap_or_default(),
        within(0.5),
        within(0.99),
        within(0.999),
        within(1.0)
    )
}
