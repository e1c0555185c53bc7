//! Rounds of operations and faults, and the checks between them.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::future::join_all;
use random_operations::Generator;
use random_operations::rng::Rng;
use tests::audit::Mark;
use tokio::time::sleep;

use crate::fault::{Action, Entry, healing, timeline};
use crate::options::Options;
use crate::report::Report;
use crate::side::{Side, Verdict};

/// The time between two looks at what is due.
const TICK: Duration = Duration::from_millis(20);
/// The time between two collections of slices without an owner.
const COLLECTION: Duration = Duration::from_secs(3);
/// The time that wrong objects get after all Services were touched.
const TOUCHED: Duration = Duration::from_secs(30);

/// The cluster of each program, and what happens to them.
struct Soak<'a> {
    options: &'a Options,
    sides: Vec<Side>,
    generator: Generator,
    rng: Rng,
    report: Report,
    /// The number of operations so far.
    operations: usize,
}

/// Runs the programs for the time of the options. Fails if ours leaves a wrong object.
pub(crate) async fn run(options: &Options) -> ExitCode {
    let start = Instant::now();
    let mut sides = Vec::new();
    for kind in options.kinds() {
        sides.push(Box::pin(Side::start(kind, options)).await);
    }
    let mut soak = Soak {
        options,
        sides,
        generator: Generator::new(options.seed, true, true, true),
        rng: Rng::new(options.seed ^ 0x50a4_fa17),
        report: Report::default(),
        operations: 0,
    };
    println!("the clusters run after {} s", start.elapsed().as_secs());
    let start = Instant::now();
    while start.elapsed() < options.time() {
        Box::pin(soak.round(start)).await;
    }
    soak.finish(start.elapsed())
}

impl Soak<'_> {
    /// Operations and faults; then faults cease, and the clusters are checked.
    async fn round(&mut self, start: Instant) {
        let (before, faults) = (self.operations, self.report.faults());
        let marks: Vec<Mark> = self.sides.iter().map(Side::mark).collect();
        self.active().await;
        for action in healing(self.options.replicas) {
            self.all(action).await;
        }
        let verdicts = self.settle(self.options.bound()).await;
        self.report.rounds += 1;
        println!(
            "round {} until {} s: {} operations, {} faults",
            self.report.rounds,
            start.elapsed().as_secs(),
            self.operations - before,
            self.report.faults() - faults,
        );
        let mut wrong = false;
        for ((side, verdict), mark) in self.sides.iter().zip(&verdicts).zip(marks) {
            wrong |= !verdict.is_right();
            println!("{}", self.report.add(side, verdict, side.writes(mark), self.options.lines));
        }
        if wrong {
            self.touch().await;
        }
    }

    /// Touches all Services, and counts what is wrong even then. The next round begins with right objects, if it helps.
    async fn touch(&mut self) {
        let mark = self.operations;
        join_all(self.sides.iter().map(|side| side.touch_all(mark))).await;
        let verdicts = self.settle(TOUCHED).await;
        for (side, verdict) in self.sides.iter().zip(&verdicts) {
            self.report.add_touched(side, verdict);
        }
    }

    /// The state of each side once its objects are right, or after a bound.
    async fn settle(&mut self, bound: Duration) -> Vec<Verdict> {
        join_all(self.sides.iter_mut().map(|side| side.settle(bound))).await
    }

    async fn active(&mut self) {
        let Options { replicas, without, calm, pause, .. } = self.options;
        let (round, calm, pause) = (self.options.round(), *calm, *pause);
        let mut faults = timeline(&mut self.rng, round, *replicas, without);
        if calm {
            faults.clear();
        }
        let mut faults = faults.into_iter().peekable();
        let start = Instant::now();
        // The time in which the API servers were down, and nothing was done.
        let mut down = Duration::ZERO;
        let (mut next_operation, mut next_collection) = (start, start);
        while start.elapsed() < round + down {
            while let Some(entry) = faults.next_if(|entry| entry.at + down <= start.elapsed()) {
                down += self.entry(entry).await;
            }
            if next_operation <= Instant::now() {
                self.operation().await;
                // Bursts: rollouts, mass deletions.
                let pause = if self.rng.percent(40) { 0 } else { self.rng.below(pause.max(1)) };
                next_operation = Instant::now() + Duration::from_millis(pause as u64);
            }
            if next_collection <= Instant::now() {
                join_all(self.sides.iter().map(Side::collect_garbage)).await;
                next_collection = Instant::now() + COLLECTION;
            }
            for side in &mut self.sides {
                side.supervise();
            }
            sleep(TICK).await;
        }
        // Those that were not due yet, such as the ends of faults, happen with the healing, or not at all.
    }

    async fn operation(&mut self) {
        let step = &self.generator.step();
        self.operations += 1;
        let number = self.operations;
        join_all(self.sides.iter_mut().map(|side| side.operate(number, step))).await;
    }

    /// Returns the time for which nothing could be done.
    async fn entry(&mut self, entry: Entry) -> Duration {
        self.report.begins(entry.begins);
        let start = Instant::now();
        self.all(entry.action).await;
        start.elapsed()
    }

    async fn all(&mut self, action: Action) {
        join_all(self.sides.iter_mut().map(|side| side.apply(action))).await;
    }

    fn finish(&self, took: Duration) -> ExitCode {
        println!("\n{}", self.report.table(self.options, took, self.operations, &self.sides));
        if self.report.is_success(&self.sides) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
