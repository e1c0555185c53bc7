//! Units.

use std::time::Duration;

pub(crate) fn megabytes(bytes: u64) -> f64 {
    u32::try_from(bytes / 1_000).map_or(f64::INFINITY, f64::from) / 1e3
}

/// In milliseconds.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
