//! Rounds of operations and faults, and the checks between them.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use random_operations::Generator;
use random_operations::rng::Rng;
use tests::manager::Kind;
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

/// Both clusters, and what happens to them.
struct Soak<'a> {
    options: &'a Options,
    upstream: Side,
    ours: Side,
    generator: Generator,
    rng: Rng,
    report: Report,
    /// The number of operations so far.
    operations: usize,
}

/// Runs both programs for the time of the options. Fails if ours leaves a wrong object.
pub(crate) async fn run(options: &Options) -> ExitCode {
    let start = Instant::now();
    let upstream = Box::pin(Side::start(Kind::Upstream, options)).await;
    let ours = Box::pin(Side::start(Kind::Ours, options)).await;
    let mut soak = Soak {
        options,
        upstream,
        ours,
        generator: Generator::new(options.seed, true, true, true),
        rng: Rng::new(options.seed ^ 0x50a4_fa17),
        report: Report::default(),
        operations: 0,
    };
    println!("both clusters run after {} s", start.elapsed().as_secs());
    let start = Instant::now();
    while start.elapsed() < options.time() {
        Box::pin(soak.round(start)).await;
    }
    soak.finish(start.elapsed())
}

impl Soak<'_> {
    /// Operations and faults; then faults cease, and both clusters are checked.
    async fn round(&mut self, start: Instant) {
        let (before, faults) = (self.operations, self.report.faults());
        let marks = [self.upstream.mark(), self.ours.mark()];
        self.active().await;
        for action in healing(self.options.replicas) {
            self.both(action).await;
        }
        let bound = self.options.bound();
        let verdicts: [Verdict; 2] =
            tokio::join!(self.upstream.settle(bound), self.ours.settle(bound)).into();
        self.report.rounds += 1;
        println!(
            "round {} until {} s: {} operations, {} faults",
            self.report.rounds,
            start.elapsed().as_secs(),
            self.operations - before,
            self.report.faults() - faults,
        );
        let mut wrong = false;
        let sides = [&self.upstream, &self.ours];
        for (number, (side, verdict)) in sides.into_iter().zip(&verdicts).enumerate() {
            wrong |= !verdict.is_right();
            let writes = side.writes(marks[number]);
            println!("{}", self.report.add(side, verdict, writes, self.options.lines));
        }
        if wrong {
            self.touch().await;
        }
    }

    /// Touches all Services, and counts what is wrong even then. The next round begins with right objects, if it helps.
    async fn touch(&mut self) {
        let mark = self.operations;
        tokio::join!(self.upstream.touch_all(mark), self.ours.touch_all(mark));
        let verdicts: [Verdict; 2] =
            tokio::join!(self.upstream.settle(TOUCHED), self.ours.settle(TOUCHED)).into();
        for (side, verdict) in [&self.upstream, &self.ours].into_iter().zip(&verdicts) {
            self.report.add_touched(side, verdict);
        }
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
                tokio::join!(self.upstream.collect_garbage(), self.ours.collect_garbage());
                next_collection = Instant::now() + COLLECTION;
            }
            self.upstream.supervise();
            self.ours.supervise();
            sleep(TICK).await;
        }
        // Those that were not due yet, such as the ends of faults, happen with the healing, or not at all.
    }

    async fn operation(&mut self) {
        let step = self.generator.step();
        self.operations += 1;
        let number = self.operations;
        tokio::join!(self.upstream.operate(number, &step), self.ours.operate(number, &step));
    }

    /// Returns the time for which nothing could be done.
    async fn entry(&mut self, entry: Entry) -> Duration {
        self.report.begins(entry.begins);
        let start = Instant::now();
        self.both(entry.action).await;
        start.elapsed()
    }

    async fn both(&mut self, action: Action) {
        tokio::join!(Box::pin(self.upstream.apply(action)), Box::pin(self.ours.apply(action)));
    }

    fn finish(&self, took: Duration) -> ExitCode {
        let (upstream, ours) = (&self.upstream, &self.ours);
        println!("\n{}", self.report.table(self.options, took, self.operations, [upstream, ours]));
        if self.report.is_success(ours) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
