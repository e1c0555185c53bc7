//! Units, and the files of results.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tests::binaries;

pub(crate) fn megabytes(bytes: u64) -> f64 {
    u32::try_from(bytes / 1_000).map_or(f64::INFINITY, f64::from) / 1e3
}

/// In milliseconds.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// The machine, the servers and the day.
pub(crate) fn machine() -> Value {
    let line = |file: &str, key: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let value = text.lines().find_map(|line| line.strip_prefix(key));
        value.map(|value| value.trim_matches([' ', '\t', ':']).to_owned())
    };
    json!({
        "processors": std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        "processor": line("/proc/cpuinfo", "model name"),
        "memory": line("/proc/meminfo", "MemTotal:"),
        "kubernetes": binaries::servers().release(),
        "date": jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
    })
}

/// Writes results as JSON, one in a line, so that a recorded file shows which have changed.
pub(crate) fn record(path: &Path, runs: u32, name: &str, results: &[Value]) {
    let results: Vec<String> = results.iter().map(Value::to_string).collect();
    let results = results.join(",\n");
    let text =
        format!("{{\n\"machine\": {},\n\"runs\": {runs},\n\"{name}\": [\n{results}\n]\n}}\n", machine());
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| std::fs::write(path, text));
    written.unwrap_or_else(|error| panic!("writing {}: {error}", path.display()));
}
