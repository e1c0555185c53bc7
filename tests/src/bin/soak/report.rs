//! The table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use clap::ValueEnum as _;
use tests::manager::Kind;

use crate::fault::Fault;
use crate::options::Options;
use crate::side::{Side, Verdict};

/// The events and the wrong objects so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) rounds: usize,
    happened: BTreeMap<Fault, usize>,
    upstream: Tally,
    ours: Tally,
}

/// The figures of one program.
#[derive(Debug, Default)]
struct Tally {
    /// Rounds after which all objects were right within the bound, and nothing was written any more.
    right: usize,
    /// Wrong objects at the end of the bound, summed over rounds.
    wrong: usize,
    /// Those that were wrong even after all Services were touched.
    still_wrong: usize,
    rules: usize,
    /// Rounds after which all objects were right, but writes went on.
    restless: usize,
    recoveries: Vec<Duration>,
    writes: usize,
    refused: usize,
    /// The most resident memory of a process at the end of a round, in bytes.
    memory: u64,
}

impl Report {
    /// Counts a fault that begins.
    pub(crate) fn begins(&mut self, fault: Option<Fault>) {
        if let Some(fault) = fault {
            *self.happened.entry(fault).or_default() += 1;
        }
    }

    /// The number of faults.
    pub(crate) fn faults(&self) -> usize {
        self.happened.values().sum()
    }

    fn tally(&mut self, kind: Kind) -> &mut Tally {
        match kind {
            Kind::Upstream => &mut self.upstream,
            Kind::Ours => &mut self.ours,
        }
    }

    /// Counts the end of a round, and describes it.
    pub(crate) fn add(&mut self, side: &Side, verdict: &Verdict, writes: [usize; 2], lines: usize) -> String {
        let tally = self.tally(side.kind);
        tally.right += usize::from(verdict.recovery.is_some());
        tally.wrong += verdict.wrong.len();
        tally.rules += verdict.rules.len();
        tally.restless += usize::from(verdict.is_right() && verdict.recovery.is_none());
        tally.recoveries.extend(verdict.recovery);
        tally.writes += writes[0];
        tally.refused += writes[1];
        tally.memory = side.replicas.iter().map(crate::replica::Replica::memory).fold(tally.memory, u64::max);
        let mut text = format!("  {:8} ", side.kind.name());
        match verdict.recovery {
            Some(recovery) => write!(text, "right after {:.1} s", recovery.as_secs_f64()),
            None if verdict.is_right() => write!(text, "right, but WRITES GO ON"),
            None => {
                let names: Vec<&str> = verdict.wrong.keys().map(String::as_str).collect();
                write!(
                    text,
                    "WRONG: {} objects, {} rules: {}",
                    names.len(),
                    verdict.rules.len(),
                    names.join(", ")
                )
            }
        }
        .expect("writing to a string");
        let wrong = verdict.wrong.values().flat_map(|lines| lines.iter().take(2)).chain(&verdict.rules);
        for line in wrong.take(lines) {
            write!(text, "\n             {line}").expect("writing to a string");
        }
        text
    }

    /// Counts what is wrong after a touch.
    pub(crate) fn add_touched(&mut self, side: &Side, verdict: &Verdict) {
        self.tally(side.kind).still_wrong += verdict.wrong.len();
    }

    /// True if ours was always right in time, and took nothing for a restored backup.
    pub(crate) fn is_success(&self, sides: &[Side]) -> bool {
        let mut ours = sides.iter().filter(|side| side.kind == Kind::Ours);
        ours.all(|side| self.ours.right == self.rounds && side.false_restores() == 0)
    }

    /// All of it.
    pub(crate) fn table(
        &self,
        options: &Options,
        took: Duration,
        operations: usize,
        sides: &[Side],
    ) -> String {
        let mut text = format!(
            "seed {}, {} s: {} rounds, {operations} operations and {} faults; {} replicas each, at most {} \
             endpoints in a slice\n\n",
            options.seed,
            took.as_secs(),
            self.rounds,
            self.faults(),
            options.replicas,
            options.max,
        );
        for fault in Fault::value_variants() {
            let count = self.happened.get(fault).copied().unwrap_or_default();
            line(&mut text, &fault.to_string(), sides.iter().map(|_| count));
        }
        let heads = sides.iter().map(|side| format!("{:>10}", side.kind.name()));
        writeln!(text, "\n{:52}{}", "", heads.collect::<String>()).expect("writing to a string");
        let tally = |side: &Side| if side.kind == Kind::Ours { &self.ours } else { &self.upstream };
        let tallies: Vec<&Tally> = sides.iter().map(tally).collect();
        let mut row =
            |what: &str, of: fn(&Tally) -> usize| line(&mut text, what, tallies.iter().copied().map(of));
        row("rounds that ended right and at rest", |tally| tally.right);
        row("wrong objects at the end of the bound", |tally| tally.wrong);
        row("  of these still wrong 30 s after all Services changed", |tally| tally.still_wrong);
        row("broken rules of slices", |tally| tally.rules);
        row("rounds after which writes went on", |tally| tally.restless);
        row("recovery, median, ms", |tally| percentile(&tally.recoveries, 50));
        row("recovery, slowest, ms", |tally| percentile(&tally.recoveries, 100));
        row("writes of Endpoints and slices", |tally| tally.writes);
        row("  of these refused", |tally| tally.refused);
        row("most resident memory of a process, MB", |tally| {
            usize::try_from(tally.memory / 1_000_000).unwrap_or(usize::MAX)
        });
        let refused = sides.iter().map(|side| side.refused);
        line(&mut text, "operations refused, as their object was gone", refused);
        line(
            &mut text,
            "answers taken for a restored backup's, before any",
            sides.iter().map(Side::false_restores),
        );
        line(&mut text, "backups that were restored", sides.iter().map(|side| side.restores));
        let panics = sides.iter().map(|side| side.log().matches("panic").count());
        line(&mut text, "panics in the logs", panics);
        for side in sides {
            writeln!(text, "ends of {}: {}", side.kind.name(), ends(side)).expect("writing to a string");
        }
        text
    }
}

fn line(text: &mut String, what: &str, values: impl Iterator<Item = usize>) {
    write!(text, "{what:52}").expect("writing to a string");
    for value in values {
        write!(text, "{value:>10}").expect("writing to a string");
    }
    text.push('\n');
}

/// The number of processes that ended, by their status.
fn ends(side: &Side) -> String {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for (status, count) in side.replicas.iter().flat_map(|replica| &replica.ends) {
        *ends.entry(status).or_default() += count;
    }
    let ends: Vec<String> = ends.into_iter().map(|(status, count)| format!("{count} × {status}")).collect();
    if ends.is_empty() { "none".to_owned() } else { ends.join(", ") }
}

/// In milliseconds; 0 if there is none.
fn percentile(times: &[Duration], percent: usize) -> usize {
    let mut times = times.to_vec();
    times.sort_unstable();
    let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(index).map_or(0, |time| usize::try_from(time.as_millis()).unwrap_or(usize::MAX))
}
