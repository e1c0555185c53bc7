//! The program's own measure of the time from a change to its write, to be read next to that of the watch of slices.

use tests::manager::{Controller, Kind, Manager};
use tests::metrics::{Exposition, Histogram};

use super::figures::Figures;

/// The histogram so far; none of upstream, which does not measure it.
pub(crate) async fn durations(manager: &Manager) -> Option<Histogram> {
    if manager.kind() == Kind::Upstream {
        return None;
    }
    let (_, text) = manager.get("/metrics").await;
    let metrics = Exposition::parse(&text).unwrap_or_else(|error| panic!("metrics: {error}"));
    let labels = [("controller", Controller::EndpointSlice.name())];
    Some(metrics.histogram("change_write_duration_seconds", &labels).cloned().unwrap_or_default())
}

/// Adds percentiles of what was observed between two scrapes.
pub(crate) fn add_delays(figures: &mut Figures, before: Option<Histogram>, after: Option<Histogram>) {
    let (Some(before), Some(mut observed)) = (before, after) else { return };
    for ((_, count), (_, before)) in observed.buckets.iter_mut().zip(&before.buckets) {
        *count -= before;
    }
    let percentile = |quantile| 1e3 * quantile_of(&observed.buckets, quantile);
    figures.extend([("own_p50_milliseconds", percentile(0.5)), ("own_p99_milliseconds", percentile(0.99))]);
}

/// As Prometheus' `histogram_quantile`: linear within a bucket.
fn quantile_of(buckets: &[(f64, f64)], quantile: f64) -> f64 {
    let rank = quantile * buckets.last().map_or(0.0, |(_, count)| *count);
    let (mut bound, mut below) = (0.0, 0.0);
    for (upper, count) in buckets {
        if *count >= rank && *count > below {
            return if upper.is_finite() {
                bound + (upper - bound) * (rank - below) / (count - below)
            } else {
                bound
            };
        }
        (bound, below) = (*upper, *count);
    }
    0.0
}
