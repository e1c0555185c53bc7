//! Waiting: poll a condition until it holds, with a limit and a reason. Bounds in real time, for tests about them.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

use crate::plant;

/// The limit for any condition in a test. Generous: only a failure reaches it.
pub const LIMIT: Duration = Duration::from_mins(3);

/// Intervals between two probes: at first, and once the condition has taken some time. Probes are requests, which take
/// CPU time from the programs under test.
const INTERVALS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(50)];

/// The time after which the interval becomes the longer one.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Polls `probe` until it returns a value. An `Err` is the reason why the condition does not hold yet.
///
/// # Panics
/// After `limit`, with `what` and the last reason.
pub async fn until<T, E, F>(what: &str, limit: Duration, mut probe: impl FnMut() -> F) -> T
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    // What is planted does not get better with time.
    let limit = if plant::is_any() { limit / 5 } else { limit };
    let start = Instant::now();
    let mut reason = "no answer".to_owned();
    loop {
        // A probe that hangs must not outlive the limit either. The previous probe's reason is then the better one.
        let left = limit.saturating_sub(start.elapsed()).max(INTERVALS[0]);
        match tokio::time::timeout(left, probe()).await {
            Ok(Ok(value)) => return value,
            Ok(Err(error)) => reason = error.to_string(),
            Err(_) => {}
        }
        assert!(start.elapsed() < limit, "{what}: not within {} s: {reason}", limit.as_secs());
        tokio::time::sleep(INTERVALS[usize::from(start.elapsed() > AT_ONCE)]).await;
    }
}

/// The time that a step takes in the calm before a fault. A bound in real time that is the subject of a test grows with
/// it: a machine on which everything takes longer meets it as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calm(Duration);

/// Steps that fit into a bound.
const STEPS: u32 = 20;

impl Calm {
    /// The longest of several measurements.
    ///
    /// # Panics
    /// Without any.
    pub fn longest(measured: impl IntoIterator<Item = Duration>) -> Self {
        Self(measured.into_iter().max().expect("a measurement"))
    }

    /// Measures a step several times; it gets the number of the measurement. The last one is even.
    pub async fn measure(mut step: impl AsyncFnMut(usize)) -> Self {
        const MEASUREMENTS: usize = 5;
        let mut measured = Vec::new();
        for number in 0..MEASUREMENTS {
            let start = Instant::now();
            step(number).await;
            measured.push(start.elapsed());
        }
        Self::longest(measured)
    }

    /// A bound: `nominal`, or longer where that is too short for a number of steps.
    #[must_use]
    pub fn bound(self, nominal: Duration) -> Duration {
        nominal.max(self.0 * STEPS)
    }

    /// A bound for what takes a time that a protocol fixes, and some steps after it.
    #[must_use]
    pub fn after(self, fixed: Duration) -> Duration {
        fixed + self.0 * STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_grow_with_the_longest_step() {
        let nominal = Duration::from_secs(45);
        let fast = Calm::longest([Duration::from_millis(50), Duration::from_millis(100)]);
        assert_eq!((fast.bound(nominal), fast.after(nominal)), (nominal, Duration::from_secs(47)));
        let slow = Calm::longest([Duration::from_secs(5), Duration::from_millis(100)]);
        let expected = (Duration::from_secs(100), Duration::from_secs(145));
        assert_eq!((slow.bound(nominal), slow.after(nominal)), expected);
    }
}
