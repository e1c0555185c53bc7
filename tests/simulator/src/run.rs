//! Many histories on several threads, and what they were.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::fault::Fault;
use crate::history::{Outcome, run};
use crate::mattered::mattered;
use crate::plan::Plan;

/// Which histories to run.
#[derive(Debug, Clone)]
pub struct Options {
    pub from: u64,
    pub seeds: u64,
    pub jobs: usize,
    /// In this many of the histories, the first ones, each fault that happened is checked for whether it mattered.
    pub mattered: u64,
    /// Ends after the first failure.
    pub stop: bool,
    /// Writes progress to stderr.
    pub progress: bool,
}

/// The number of times that a fault happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub happened: u64,
    /// In how many histories.
    pub histories: u64,
    /// In how many of those that were checked.
    pub checked: u64,
    /// In how many of these it mattered: see [`crate::mattered`].
    pub mattered: u64,
}

/// The outcomes of all histories.
#[derive(Debug, Default)]
pub struct Report {
    pub histories: u64,
    pub writes: u64,
    pub virtual_seconds: f64,
    /// The longest time from the last fault until the last write.
    pub slowest: (f64, u64),
    /// The longest time for which a ready endpoint was in no slice, where that has a bound.
    pub longest_outage: (f64, u64),
    pub faults: BTreeMap<Fault, Tally>,
    /// Failures by seed.
    pub failures: BTreeMap<u64, Vec<String>>,
    pub took: Duration,
}

impl Report {
    fn add(&mut self, seed: u64, outcome: Outcome) {
        self.histories += 1;
        self.writes += outcome.writes;
        self.virtual_seconds += outcome.seconds;
        if outcome.recovery > self.slowest.0 {
            self.slowest = (outcome.recovery, seed);
        }
        if outcome.outage > self.longest_outage.0 {
            self.longest_outage = (outcome.outage, seed);
        }
        for fault in Fault::ALL {
            let count = outcome.counts.of(*fault);
            if count > 0 {
                let tally = self.faults.entry(*fault).or_default();
                tally.happened += count;
                tally.histories += 1;
            }
        }
        if !outcome.failures.is_empty() {
            self.failures.insert(seed, outcome.failures);
        }
    }

    fn add_mattered(&mut self, faults: &[(Fault, bool)]) {
        for (fault, mattered) in faults {
            let tally = self.faults.entry(*fault).or_default();
            tally.checked += 1;
            tally.mattered += u64::from(*mattered);
        }
    }

    /// A table of faults.
    pub fn table(&self) -> String {
        let is_checked = self.faults.values().any(|tally| tally.checked > 0);
        let mut text = format!("{:<18} {:>10} {:>10}", "fault", "happened", "histories");
        text.push_str(if is_checked { "  mattered in\n" } else { "\n" });
        for fault in Fault::ALL {
            let Tally { happened, histories, checked, mattered } =
                self.faults.get(fault).copied().unwrap_or_default();
            write!(text, "{fault:<18} {happened:>10} {histories:>10}").expect("a String");
            if is_checked {
                write!(text, "  {mattered:>4} of {checked}").expect("a String");
            }
            text.push('\n');
        }
        text
    }

    /// One line about all of it.
    pub fn summary(&self) -> String {
        let seconds = self.took.as_secs_f64();
        format!(
            "{} histories in {seconds:.1} s ({:.0}/s), {:.1} days of virtual time, {} writes, slowest recovery {:.0} s (seed {}), \
             longest outage {:.1} s (seed {}), {} failed",
            self.histories,
            count(self.histories) / seconds,
            self.virtual_seconds / 86_400.0,
            self.writes,
            self.slowest.0,
            self.slowest.1,
            self.longest_outage.0,
            self.longest_outage.1,
            self.failures.len()
        )
    }
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
fn count(number: u64) -> f64 {
    number as f64
}

/// Runs one seed. A panic is a failure.
pub fn one(plan: &Plan) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| run(plan, false))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Outcome { failures: vec![format!("panic: {}", text.unwrap_or_default())], ..Outcome::default() }
    })
}

/// Runs the histories of some plans, by number.
pub fn all_of(options: &Options, plan_of: &(dyn Fn(u64) -> Plan + Sync)) -> Report {
    let (next, stop, report) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(Report::default()));
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.seeds {
                        break;
                    }
                    let seed = options.from + number;
                    let plan = plan_of(seed);
                    let outcome = one(&plan);
                    let failed = !outcome.failures.is_empty();
                    if options.progress && failed {
                        let _ = writeln!(std::io::stderr(), "seed {seed} failed: {}", outcome.failures[0]);
                    }
                    let faults = if number < options.mattered { mattered(&plan, &one) } else { Vec::new() };
                    let mut report = report.lock();
                    report.add(seed, outcome);
                    report.add_mattered(&faults);
                    drop(report);
                    if failed && options.stop {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
        if options.progress {
            scope.spawn(|| {
                let mut shown = 0;
                loop {
                    thread::sleep(Duration::from_millis(200));
                    let (done, failed) = {
                        let report = report.lock();
                        (report.histories, report.failures.len())
                    };
                    let seconds = start.elapsed().as_secs();
                    if done >= options.seeds || stop.load(Ordering::Relaxed) {
                        break;
                    }
                    if seconds >= shown + 5 {
                        shown = seconds;
                        let rate = count(done) / start.elapsed().as_secs_f64();
                        let _ = writeln!(
                            std::io::stderr(),
                            "{done} of {} histories, {rate:.0}/s, {failed} failed",
                            options.seeds
                        );
                    }
                }
            });
        }
    });
    let mut report = report.into_inner();
    report.took = start.elapsed();
    report
}
