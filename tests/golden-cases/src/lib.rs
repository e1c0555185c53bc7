//! Replays the cases that `hack/golden` recorded: the output of upstream for random inputs.
//!
//! ```text
//! cargo test -p CRATE golden
//! GOLDEN_CASE=17 cargo test -p CRATE golden                only that case
//! GOLDEN_FILE=/tmp/more.gz cargo test -p CRATE golden      other cases (hack/golden/README.md)
//! ```

#![allow(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

pub mod answers;

use std::fmt::Write;
use std::io::Read;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The number of failures printed in full.
const SHOWN: usize = 5;

/// The first line of a file.
#[derive(Deserialize)]
struct Header {
    seed: u64,
    cases: usize,
}

/// A case, with the parts that reports need.
pub trait Case: DeserializeOwned {
    /// The case's number in the file, and its description.
    fn title(&self) -> (usize, String);
    /// Runs our code on the recorded input, and returns the differences from upstream's output.
    fn differences(self) -> Vec<String>;
}

/// Replays the cases of `file`, of which there must be `at_least` a number, or those of the file that `GOLDEN_FILE`
/// names. A failure prints `cargo test ARGUMENTS` to replay it.
pub fn replay<C: Case>(file: &str, at_least: usize, arguments: &str) {
    let given = std::env::var("GOLDEN_FILE").ok();
    let only: Option<usize> = std::env::var("GOLDEN_CASE").ok().map(|number| number.parse().unwrap());
    let text = unpack(given.as_deref().unwrap_or(file));
    let (header, lines) = text.split_once('\n').unwrap();
    let header: Header = serde_json::from_str(header).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), header.cases);
    assert!(given.is_some() || lines.len() >= at_least);

    let lines = only.map_or(lines.as_slice(), |number| &lines[number..=number]);
    let failures = failures::<C>(lines, arguments);
    assert!(
        failures.is_empty(),
        "{} of {} cases (seed {}) differ:\n{}",
        failures.len(),
        lines.len(),
        header.seed,
        failures.into_iter().take(SHOWN).collect::<Vec<_>>().join("\n")
    );
}

fn failures<C: Case>(lines: &[&str], arguments: &str) -> Vec<String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let parts: Vec<_> = lines
            .chunks(lines.len().div_ceil(threads))
            .map(|part| {
                scope.spawn(move || part.iter().filter_map(|line| failure::<C>(line, arguments)).collect())
            })
            .collect();
        parts.into_iter().flat_map(|part| -> Vec<String> { part.join().unwrap() }).collect()
    })
}

/// A report if the result for the case differs from upstream's.
fn failure<C: Case>(line: &str, arguments: &str) -> Option<String> {
    let case: C = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
    let (number, kind) = case.title();
    let found = case.differences();
    (!found.is_empty()).then(|| {
        let mut report = format!("case {number} ({kind})\n");
        for difference in found {
            let _ = writeln!(report, "  {difference}");
        }
        report + &format!("  replay it: GOLDEN_CASE={number} cargo test {arguments}\n")
    })
}

/// The text of a file, unpacked: a header, then a line for each case.
fn unpack(path: &str) -> String {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a gzip file");
    text
}
