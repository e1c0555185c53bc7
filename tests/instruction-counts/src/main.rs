//! `hack/lib/instructions`: the instructions of the hot paths, next to those in `expected.txt`.
//!
//! Each case runs in a process of its own under valgrind's callgrind, which counts the instructions between entry and
//! return of [`measured`]. Unlike times, counts do not depend on other load, on the clock of the processor or on its
//! caches; they depend on the target, the compiler (which `rust-toolchain.toml` fixes) and a little on the C library.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a measurement is never shipped: it fails by panicking, with one message"
)]

mod callgrind;
mod cases;
mod expected;
mod objects;

use std::process::ExitCode;

use crate::cases::Case;

const USAGE: &str = "\
Usage: hack/lib/instructions [--update]

Counts the instructions of scanning, planning, indexing and queueing, and compares them with
tests/instruction-counts/expected.txt. Fails if one differs by more than 4 %.

  --update  write the counts to that file instead";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--case", name] => {
            run_case(name);
            ExitCode::SUCCESS
        }
        [] => compare(),
        ["--update"] => {
            expected::write(&counts());
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Runs one case; this is the process that callgrind observes.
fn run_case(name: &str) {
    let case = Case::named(name).unwrap_or_else(|| panic!("no case is called {name:?}"));
    let mut work = (case.prepare)();
    measured(&mut *work);
}

/// The function whose instructions are counted, with all that it calls: callgrind knows it by its name.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
    // A call, not a jump, so that this function is on the stack until the work is done.
    std::hint::black_box(());
}

fn compare() -> ExitCode {
    let report = expected::compare(&expected::read(), &counts());
    print!("{}", report.text);
    if report.agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The instructions of each case for one of its items.
fn counts() -> Vec<(&'static str, u64)> {
    cases::ALL.iter().map(|case| (case.name, callgrind::count(case.name) / case.items)).collect()
}
