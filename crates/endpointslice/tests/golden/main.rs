//! The same writes as upstream's own library, on thousands of random inputs.
//!
//! `hack/golden` calls `Reconcile` of `k8s.io/endpointslice` and records what it writes; here `plan` gets the same
//! input. `compare` says what must agree, and where upstream leaves the choice to chance; `kept_placeholder` and `topology` where we
//! differ on purpose.
//!
//! ```text
//! cargo test -p endpointslice --test golden
//! GOLDEN_CASE=17 cargo test -p endpointslice --test golden         only that case
//! GOLDEN_FILE=/tmp/more.gz cargo test -p endpointslice --test golden   other cases (hack/golden/README.md)
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod case;
mod compare;
mod kept_placeholder;
mod new_slices;
mod topology;
mod updates;

use std::fmt::Write;

use crate::case::{Case, Header, unpack};
use crate::compare::differences;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/golden.jsonl.gz");
/// As many as the issue asks for.
const AT_LEAST: usize = 5000;
const SHOWN: usize = 5;

#[test]
fn the_same_writes_as_upstream() {
    let given = std::env::var("GOLDEN_FILE").ok();
    let only: Option<usize> = std::env::var("GOLDEN_CASE").ok().map(|number| number.parse().unwrap());
    let text = unpack(given.as_deref().unwrap_or(CASES));
    let (header, lines) = text.split_once('\n').unwrap();
    let header: Header = serde_json::from_str(header).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), header.cases);
    assert!(given.is_some() || lines.len() >= AT_LEAST);

    let lines = only.map_or(lines.as_slice(), |number| &lines[number..=number]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let parts = lines.chunks(lines.len().div_ceil(threads));
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().filter_map(|line| replay(line)).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(
        failures.is_empty(),
        "{} of {} cases (seed {}) differ:\n{}",
        failures.len(),
        lines.len(),
        header.seed,
        failures.iter().take(SHOWN).fold(String::new(), |mut shown, failure| {
            let _ = writeln!(shown, "{failure}");
            shown
        })
    );
}

/// A report if the case doesn't come out as upstream's.
fn replay(line: &str) -> Option<String> {
    let case: Case = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
    let (number, kind) = (case.number, case.kind.clone());
    let (ours, theirs) = case.replay();
    let found = differences(&ours, &theirs);
    (!found.is_empty()).then(|| {
        format!(
            "case {number} ({kind})\n{}  replay it: GOLDEN_CASE={number} cargo test -p endpointslice --test golden\n",
            found.iter().fold(String::new(), |text, difference| text + "  " + difference + "\n")
        )
    })
}
