//! Measured numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use tests::audit::Request;

use crate::report::{megabytes, percentile};

/// Numbers by name, which is also their name in JSON; the unit is the end of the name.
pub(crate) type Figures = BTreeMap<&'static str, f64>;

pub(crate) const SECONDS: &str = "seconds";
pub(crate) const CPU: &str = "cpu_seconds";
pub(crate) const PEAK: &str = "peak_megabytes";
pub(crate) const WRITES: &str = "writes";
pub(crate) const FAILED: &str = "failed_writes";
pub(crate) const P50: &str = "p50_milliseconds";
pub(crate) const P99: &str = "p99_milliseconds";
pub(crate) const RECEIVED: &str = "received_megabytes";

/// The figures of a phase: the time until the slices were up to date, CPU time until all was idle, the highest memory so far, and
/// the writes of any resource.
pub(crate) fn of<'a>(
    took: Duration,
    cpu: Duration,
    peak_rss: u64,
    writes: impl Iterator<Item = &'a Request> + Clone,
) -> Figures {
    Figures::from([
        (SECONDS, took.as_secs_f64()),
        (CPU, cpu.as_secs_f64()),
        (PEAK, megabytes(peak_rss)),
        (WRITES, count(writes.clone().count())),
        (FAILED, count(writes.filter(|write| write.code >= 300).count())),
    ])
}

/// Adds percentiles of delays, which are sorted.
pub(crate) fn add_delays(figures: &mut Figures, sorted: &[Duration]) {
    figures.extend([(P50, percentile(sorted, 50)), (P99, percentile(sorted, 99))]);
}

pub(crate) fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}

/// The median; of two, the lower one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

/// The median of each figure.
pub(crate) fn medians(runs: &[Figures]) -> Figures {
    let names = runs.first().into_iter().flat_map(Figures::keys).copied();
    let of = |name: &'static str| median(runs.iter().filter_map(|run| run.get(name).copied()).collect());
    names.map(|name| (name, of(name))).collect()
}

/// Ours divided by upstream's, where upstream's is not zero.
pub(crate) fn ratios(upstream: &Figures, ours: &Figures) -> Figures {
    let ratio = |(name, ours): (&&'static str, &f64)| {
        let upstream = upstream.get(name).filter(|upstream| **upstream > 0.0)?;
        Some((*name, ours / upstream))
    };
    ours.iter().filter_map(ratio).collect()
}
