//! Drops requests of a failing sequence while it still fails in the same way.

use std::time::{Duration, Instant};

use super::coverage::Coverage;
use super::request::{Action, Request};
use super::sequence::{Failure, Pair, Until, run};

/// The class of a failure: what differs in the answer to which kind of request.
pub(crate) fn class(requests: &[Request], failure: &Failure) -> String {
    let request = requests.iter().find(|request| request.number == failure.number);
    let cell = request.map(|request| format!("{} ({})", request.cell.verb, request.cell.option));
    let first = &failure.differences[0];
    // Numbers of items are chance.
    let path: String = first.path.chars().filter(|c| !c.is_ascii_digit()).collect();
    let short = |text: &str| if text.len() > 40 { "…".to_owned() } else { text.to_owned() };
    format!("{}: {path} {} / {}", cell.unwrap_or_default(), short(&first.real), short(&first.other))
}

/// A failing sequence without the requests that its failure does not need.
pub(crate) struct Shrunk {
    pub(crate) requests: Vec<Request>,
    pub(crate) failure: Failure,
    /// True if it failed again at all.
    pub(crate) again: bool,
}

/// Runs of a whole sequence, alone, after which its failure counts as one that does not repeat.
pub(crate) const REPEATS: usize = 5;

/// Shrinks. `namespace` returns a new one for every attempt.
pub(crate) async fn shrink(
    pair: &Pair,
    requests: &[Request],
    failure: Failure,
    slot: usize,
    mut namespace: impl FnMut() -> String,
) -> Shrunk {
    const LIMIT: Duration = Duration::from_secs(20);
    let start = Instant::now();
    let wanted = failure.differences[0].path.clone();
    let end =
        requests.iter().position(|request| request.number == failure.number).unwrap_or(requests.len() - 1);
    let mut best = Shrunk { requests: requests[..=end].to_vec(), failure, again: false };
    let mut size = best.requests.len().div_ceil(2);
    // Attempts left to see the whole sequence fail again.
    let mut whole = REPEATS;
    loop {
        let mut at = 0;
        let mut progress = false;
        while at < best.requests.len() {
            let fewer = if whole > 0 { best.requests.clone() } else { without(&best.requests, at, size) };
            let coverage = &mut Coverage::default();
            let failed = run(pair, &namespace(), slot, &fewer, Until::Difference, coverage).await;
            let failed = failed.into_iter().find(|failure| failure.differences[0].path == wanted);
            if let Some(failure) = failed {
                best = Shrunk { requests: fewer, failure, again: true };
                progress = whole == 0;
                whole = 0;
            } else if whole > 1 {
                whole -= 1;
                continue;
            } else if whole == 1 {
                return best;
            } else {
                at += size;
            }
            if start.elapsed() > LIMIT {
                return best;
            }
        }
        if size == 1 && !progress {
            return best;
        }
        size = size.div_ceil(2);
    }
}

/// Without some requests, and without those that need them. The last one, which fails, stays.
fn without(requests: &[Request], at: usize, size: usize) -> Vec<Request> {
    let last = requests.len() - 1;
    let keep = |(place, request): (usize, &Request)| {
        (place == last || !(at..at + size).contains(&place)).then(|| request.clone())
    };
    let kept: Vec<Request> = requests.iter().enumerate().filter_map(keep).collect();
    let has = |number: usize| kept.iter().any(|request| request.number == number);
    let usable = |request: &Request| match request.action {
        Action::Close(watch) | Action::AwaitEnd(watch) => has(watch),
        Action::Answer | Action::Watch => true,
    };
    kept.iter().filter(|request| usable(request)).cloned().collect()
}
