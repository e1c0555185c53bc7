//! Runs many sequences side by side, and reports.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::coverage::Coverage;
use super::generator;
use super::request::Request;
use super::sequence::{self, Failure, Pair, Until};
use super::shrink::{REPEATS, Shrunk, class, shrink};
use crate::random::seeds;
use crate::variables::variable;

/// The sequences to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Requests after which no further sequence begins, unless seeds are named.
    pub requests: usize,
    /// The sequences; as many as it takes, from 0, if empty.
    pub seeds: Vec<u64>,
    /// Only these requests of each sequence.
    pub only: Vec<usize>,
    /// Sequences at the same time; at most 64.
    pub parallel: usize,
    /// Goes on after a difference, as long as the status codes are equal: shows more at once, and consequences too.
    pub go_on: bool,
    /// Named in the command that repeats a sequence.
    pub test: &'static str,
}

impl Options {
    /// The options in the environment: `CONFORMANCE_REQUESTS`, `CONFORMANCE_SEEDS` (`1 5 7..12`), `CONFORMANCE_ONLY`
    /// (numbers of requests), `CONFORMANCE_PARALLEL` and `CONFORMANCE_GO_ON`.
    pub fn from_environment(test: &'static str, requests: usize) -> Self {
        let text = |name: &str| variable::<String>(name).unwrap_or_default();
        let only = text("CONFORMANCE_ONLY");
        let number = |part: &str| part.parse().unwrap_or_else(|_| panic!("not a number: {part:?}"));
        Self {
            requests: variable("CONFORMANCE_REQUESTS").unwrap_or(requests),
            seeds: seeds(&text("CONFORMANCE_SEEDS")),
            only: only.split_whitespace().map(number).collect(),
            parallel: variable("CONFORMANCE_PARALLEL").unwrap_or(48).clamp(1, 64),
            go_on: !text("CONFORMANCE_GO_ON").is_empty(),
            test,
        }
    }

    /// The requests of a sequence.
    fn sequence(&self, seed: u64) -> Vec<Request> {
        let mut requests = generator::sequence(seed);
        if !self.only.is_empty() {
            requests.retain(|request| self.only.contains(&request.number));
        }
        requests
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Report {
    /// The coverage of the requests.
    pub coverage: Coverage,
    /// Sequences whose answers differ, by class: how many, and the text of the first.
    pub classes: BTreeMap<String, (usize, String)>,
    /// Texts of failures that did not repeat when their sequence ran alone five times: the real server's cache was behind, or
    /// two random values were equal.
    pub once: Vec<String>,
    sequences: usize,
    elapsed: Duration,
}

struct Failed {
    seed: u64,
    class: String,
    failure: Failure,
}

/// Runs sequences on two servers.
///
/// # Panics
/// If a server does not answer at all.
pub async fn run(pair: &Pair, options: &Options) -> Report {
    let start = Instant::now();
    tokio::join!(pair.real.ready(), pair.other.ready());
    let next = Arc::new(AtomicUsize::new(0));
    let requests = Arc::new(AtomicUsize::new(0));
    let total = Arc::new(Mutex::new((Coverage::default(), Vec::new())));
    let workers = (0..options.parallel).map(|slot| {
        let (pair, options, next) = (pair.clone(), options.clone(), next.clone());
        let (requests, total) = (requests.clone(), total.clone());
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let seed = match options.seeds.get(number) {
                    Some(seed) => *seed,
                    None if options.seeds.is_empty() => number as u64,
                    None => break,
                };
                if options.seeds.is_empty() && requests.load(Ordering::Relaxed) >= options.requests {
                    break;
                }
                let sequence = options.sequence(seed);
                let mut coverage = Coverage::default();
                let namespace = format!("s{number}");
                let until = if options.go_on { Until::OtherStatus } else { Until::Difference };
                let failures = sequence::run(&pair, &namespace, slot, &sequence, until, &mut coverage).await;
                requests.fetch_add(coverage.requests, Ordering::Relaxed);
                let mut total = total.lock();
                total.0.add(&coverage);
                for failure in failures {
                    total.1.push(Failed { seed, class: class(&sequence, &failure), failure });
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    }
    let elapsed = start.elapsed();
    let (coverage, mut failed) = std::mem::take(&mut *total.lock());
    failed.sort_by_key(|failed| failed.seed);
    let (classes, once) = classes(pair, options, failed).await;
    let sequences = next.load(Ordering::Relaxed).saturating_sub(options.parallel);
    Report { coverage, classes, once, sequences, elapsed }
}

/// Sequences by class of their failure: how many, and the text of the first.
type Classes = BTreeMap<String, (usize, String)>;

/// Groups failures, and shrinks the first of some classes. Returns those that do not repeat apart.
async fn classes(pair: &Pair, options: &Options, failed: Vec<Failed>) -> (Classes, Vec<String>) {
    let most = variable("CONFORMANCE_SHRINK").unwrap_or(10);
    let mut classes = Classes::new();
    let mut once = Vec::new();
    let mut attempt = 0;
    for Failed { seed, class, failure } in failed {
        if let Some((count, _)) = classes.get_mut(&class) {
            *count += 1;
            continue;
        }
        let sequence = options.sequence(seed);
        let shrunk = if classes.len() < most {
            let namespace = || {
                attempt += 1;
                format!("a{attempt}")
            };
            shrink(pair, &sequence, failure, 0, namespace).await
        } else {
            let end = sequence.iter().position(|request| request.number == failure.number).unwrap();
            Shrunk { requests: sequence[..=end].to_vec(), failure, again: true }
        };
        let text = text(options, seed, &shrunk);
        if shrunk.again {
            classes.insert(class, (1, text));
        } else {
            once.push(format!("{class}\n{text}"));
        }
    }
    (classes, once)
}

/// A failure in words, with the command that repeats it.
fn text(options: &Options, seed: u64, shrunk: &Shrunk) -> String {
    const MAX: usize = 3000;
    let cut = |text: &str| -> String { text.chars().take(MAX).collect() };
    let mut out = String::new();
    for request in &shrunk.requests {
        if request.number == shrunk.failure.number {
            writeln!(out, "  {}: {}", request.number, cut(&shrunk.failure.request)).unwrap();
        } else if shrunk.requests.len() <= 12 {
            let earlier = super::earlier_responses::EarlierResponses::new("⟦ns⟧", 0);
            writeln!(out, "  {}: {}", request.number, cut(&sequence::print(&earlier, request))).unwrap();
        }
    }
    for difference in &shrunk.failure.differences {
        let [real, other] = [&difference.real, &difference.other].map(|text| cut(text));
        writeln!(out, "  {}\n    real:  {real}\n    other: {other}", difference.path).unwrap();
    }
    if shrunk.failure.answers.iter().all(|answer| answer.len() < 600) {
        let [real, other] = &shrunk.failure.answers;
        writeln!(out, "  real answer:  {real}\n  other answer: {other}").unwrap();
    }
    let only: Vec<String> = shrunk.requests.iter().map(|request| request.number.to_string()).collect();
    let only = only.join(" ");
    let test = options.test;
    write!(out, "  again: CONFORMANCE_SEEDS={seed} CONFORMANCE_ONLY='{only}' cargo test -p tests --test it {test} -- --nocapture")
        .unwrap();
    out
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let differences: usize = self.classes.values().map(|(count, _)| count).sum();
        writeln!(f, "{}", self.coverage)?;
        writeln!(f, "  {} sequences in {:.1} s", self.sequences, self.elapsed.as_secs_f64())?;
        write!(f, "  differences: {differences} in {} classes", self.classes.len())?;
        let mut classes: Vec<_> = self.classes.iter().collect();
        classes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (class, (count, text)) in classes {
            write!(f, "\n\n{count} x {class}\n{text}")?;
        }
        for text in &self.once {
            write!(f, "\n\nonce, and not again in {REPEATS} runs of the sequence alone: {text}")?;
        }
        Ok(())
    }
}
