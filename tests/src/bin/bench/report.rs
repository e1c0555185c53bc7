//! The table.

use std::fmt::Write as _;
use std::time::Duration;

use tests::manager::{Controller, Kind};

use crate::measure::{Measurement, Phase};
use crate::options::Options;

type Value = fn(&Measurement) -> f64;

struct Row {
    what: &'static str,
    digits: usize,
    value: Value,
}

const fn row(what: &'static str, digits: usize, value: Value) -> Row {
    Row { what, digits, value }
}

const START: &[Row] = &[
    row("seconds until all slices exist", 2, |m| m.start.seconds),
    row("CPU seconds", 2, |m| m.start.cpu.as_secs_f64()),
    row("peak RSS, MB", 1, |m| megabytes(m.start.peak_rss)),
    row("writes", 0, |m| count(m.start.writes)),
];

const CHURN: &[Row] = &[
    row("seconds until all is in the slices", 2, |m| m.churn.seconds),
    row("CPU seconds", 2, |m| m.churn.cpu.as_secs_f64()),
    row("writes", 0, |m| count(m.churn.writes)),
];

const SINGLE: &[Row] = &[
    row("pod to slice, median, ms", 1, |m| percentile(&m.delays, 50)),
    row("pod to slice, 90th percentile, ms", 1, |m| percentile(&m.delays, 90)),
    row("pod to slice, slowest, ms", 1, |m| percentile(&m.delays, 100)),
    row("CPU seconds", 2, |m| m.single.cpu.as_secs_f64()),
    row("writes", 0, |m| count(m.single.writes)),
];

const IDLE: &[Row] = &[
    row("RSS, MB", 1, |m| megabytes(m.idle.rss)),
    row("CPU seconds", 2, |m| m.idle.cpu.as_secs_f64()),
    row("writes", 0, |m| count(m.idle.writes)),
];

const RESTART: &[Row] = &[
    row("seconds until a waiting change is written", 2, |m| m.restart.seconds),
    row("CPU seconds", 2, |m| m.restart.cpu.as_secs_f64()),
    row("peak RSS, MB", 1, |m| megabytes(m.restart.peak_rss)),
    row("other writes", 0, |m| count(m.restart.writes)),
];

/// All measurements side by side.
pub(crate) fn table(options: &Options, measurements: &[(Kind, Measurement)]) -> String {
    let mut text = format!("{:48}", "");
    for (kind, _) in measurements {
        write!(text, "{:>12}", kind.name()).unwrap();
    }
    if measurements.len() == 2 {
        text.push_str("       ratio");
    }
    text.push('\n');
    for (title, rows) in [
        ("from nothing".to_owned(), START),
        (format!("{} pods stop being ready, all at once", options.churn()), CHURN),
        (format!("{} pods stop being ready, one after another", options.single()), SINGLE),
        (format!("{} s of nothing", options.idle), IDLE),
        ("a new process on the settled cluster".to_owned(), RESTART),
    ] {
        writeln!(text, "{title}").unwrap();
        for row in rows {
            text.push_str(&line(row, measurements));
        }
    }
    for (kind, measurement) in measurements {
        let phases: [&Phase; 5] = [
            &measurement.start,
            &measurement.churn,
            &measurement.single,
            &measurement.idle,
            &measurement.restart,
        ];
        let failed: usize = phases.iter().map(|phase| phase.failed).sum();
        if failed > 0 {
            writeln!(text, "{failed} writes of {} failed", kind.name()).unwrap();
        }
    }
    text
}

/// The memory that each controller adds, and the evidence that all of them share one cache.
pub(crate) fn memory(measurements: &[(Kind, &[Controller], Measurement)]) -> String {
    let mut text = format!(
        "{:10}{:>24}{:>14}{:>16}  controllers\n",
        "", "peak at the start, MB", "idle, MB", "watches of pods"
    );
    for (kind, controllers, measurement) in measurements {
        let Measurement { start, idle, list_watches, .. } = measurement;
        writeln!(
            text,
            "{:10}{:24.1}{:14.1}{:16}  {}",
            kind.name(),
            megabytes(start.peak_rss),
            megabytes(idle.rss),
            list_watches.get("pods").copied().unwrap_or_default(),
            Controller::list(controllers),
        )
        .unwrap();
    }
    text
}

fn line(row: &Row, measurements: &[(Kind, Measurement)]) -> String {
    let values: Vec<f64> = measurements.iter().map(|(_, measurement)| (row.value)(measurement)).collect();
    let mut text = format!("  {:46}", row.what);
    for value in &values {
        write!(text, "{value:12.digits$}", digits = row.digits).unwrap();
    }
    if let [upstream, ours] = values[..] {
        if ours > 0.0 {
            write!(text, "{:10.1} ×", upstream / ours).unwrap();
        } else {
            write!(text, "{:>12}", "-").unwrap();
        }
    }
    text.push('\n');
    text
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    u32::try_from(bytes / 1_000).map_or(f64::INFINITY, f64::from) / 1e3
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}

/// In milliseconds.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
