//! The comparison of a histogram with single values.

use std::process::ExitCode;

use tests::metrics::Histogram;

/// The largest difference between the 99th percentiles, in seconds.
const TOLERANCE: f64 = 0.02;
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// One controller's histogram and the watcher's values.
pub(crate) struct Comparison {
    controller: &'static str,
    /// Upper bounds, and the numbers of observations up to each.
    measured: Vec<(f64, f64)>,
    /// In order.
    watched: Vec<f64>,
}

impl Comparison {
    pub(crate) fn new(controller: &'static str, measured: Vec<(f64, f64)>, mut watched: Vec<f64>) -> Self {
        watched.sort_by(f64::total_cmp);
        Self { controller, measured, watched }
    }

    fn count(&self) -> f64 {
        self.measured.last().map_or(0.0, |(_, count)| *count)
    }

    /// As Prometheus' `histogram_quantile`: linear within a bucket.
    fn measured(&self, quantile: f64) -> f64 {
        let rank = quantile * self.count();
        let (mut bound, mut below) = (0.0, 0.0);
        for (upper, count) in &self.measured {
            if *count >= rank && *count > below {
                return if upper.is_finite() {
                    bound + (upper - bound) * (rank - below) / (count - below)
                } else {
                    bound
                };
            }
            (bound, below) = (*upper, *count);
        }
        f64::NAN
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // an index
    fn watched(&self, quantile: f64) -> f64 {
        let rank = (quantile * self.watched.len() as f64).ceil() as usize;
        self.watched.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    #[allow(clippy::cast_precision_loss)] // a count
    fn agrees(&self) -> bool {
        let counts = (self.count() - self.watched.len() as f64).abs() < 0.5;
        counts && (self.measured(0.99) - self.watched(0.99)).abs() <= TOLERANCE
    }
}

/// The observations between two scrapes.
pub(crate) fn since(before: &Histogram, after: &Histogram) -> Vec<(f64, f64)> {
    after
        .buckets
        .iter()
        .zip(&before.buckets)
        .map(|((bound, after), (_, before))| (*bound, after - before))
        .collect()
}

/// Prints all quantiles, and returns whether everything agrees.
pub(crate) fn report(comparisons: &[Comparison]) -> ExitCode {
    println!("{:28}{:>8}{:>8}{:>12}{:>12}{:>12}", "controller", "", "", "measured", "watched", "difference");
    for comparison in comparisons {
        let Comparison { controller, watched, .. } = comparison;
        println!("{controller:28}{:>8}{:>8}{:>12}{:>12}", "changes", "", comparison.count(), watched.len());
        for quantile in QUANTILES {
            let (measured, watched) = (comparison.measured(quantile), comparison.watched(quantile));
            println!(
                "{:28}{:>8}{:>8}{:>9.1} ms{:>9.1} ms{:>9.1} ms",
                "",
                "p",
                quantile * 100.0,
                measured * 1e3,
                watched * 1e3,
                (measured - watched) * 1e3
            );
        }
    }
    let agrees = comparisons.iter().all(Comparison::agrees);
    println!("{}", if agrees { "agree: the same counts, and p99 within 20 ms" } else { "DO NOT AGREE" });
    if agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
