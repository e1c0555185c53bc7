//! The findings of several checks of consumers of slices.

use std::collections::BTreeMap;
use std::time::Duration;

use endpoint_diagnostics::audit::{Finding, ObjectRef, Repair, Target, Wrong};
use tokio::time::Instant;

use crate::exit::Failure;

/// The result of all checks of one kind of consumer, or of several.
#[derive(Debug, Default)]
pub(super) struct ConsumerFindings {
    pub(super) findings: Vec<Finding>,
    /// The slices to send again, each once.
    pub(super) touches: BTreeMap<ObjectRef, Repair>,
    /// Something was not compared: a consumer that does not answer, or what was wrong at first and then not seen.
    pub(super) is_incomplete: bool,
    /// The first kind of consumer that could not be asked at all.
    pub(super) failure: Option<Failure>,
}

impl ConsumerFindings {
    /// Adds what another kind of consumer has answered.
    pub(super) fn add(&mut self, asked: Result<Self, Failure>) {
        match asked {
            Ok(asked) => {
                self.findings.extend(asked.findings);
                self.touches.extend(asked.touches);
                self.is_incomplete |= asked.is_incomplete;
            }
            Err(failure) => {
                self.failure.get_or_insert(failure);
            }
        }
    }

    /// Adds slices to send again.
    pub(super) fn touch(&mut self, touches: Vec<Repair>) {
        self.touches.extend(touches.into_iter().map(|touch| (touch.object.clone(), touch)));
    }
}

/// The differences that every check of one consumer so far has shown.
pub(super) struct Suspects<K, T> {
    /// The time for which it must be wrong.
    timeout: Duration,
    all: BTreeMap<K, Suspect<T>>,
}

struct Suspect<T> {
    wrong: Wrong<T>,
    since: Instant,
    /// The time of the last check.
    until: Instant,
}

impl<T> Suspect<T> {
    fn time(&self) -> Duration {
        self.until.saturating_duration_since(self.since)
    }
}

impl<K: Ord, T: Target> Suspects<K, T> {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, all: BTreeMap::new() }
    }

    /// Adds what the first check has shown, if anything.
    pub(super) fn add(&mut self, key: K, wrong: Option<Wrong<T>>) {
        let now = Instant::now();
        self.all.extend(wrong.map(|wrong| (key, Suspect { wrong, since: now, until: now })));
    }

    pub(super) fn contains(&self, key: &K) -> bool {
        self.all.contains_key(key)
    }

    /// Drops those that are gone: they are no longer wrong.
    pub(super) fn retain(&mut self, exists: impl Fn(&K) -> bool) {
        self.all.retain(|key, _| exists(key));
    }

    /// Notes another check, which shows what is still wrong.
    pub(super) fn check_again(&mut self, key: &K, still: impl FnOnce(Wrong<T>) -> Option<Wrong<T>>) {
        let Some(suspect) = self.all.get_mut(key) else { return };
        match still(suspect.wrong.clone()) {
            Some(wrong) => (suspect.wrong, suspect.until) = (wrong, Instant::now()),
            None => drop(self.all.remove(key)),
        }
    }

    /// The number that is wrong, and has not been for long enough.
    pub(super) fn open(&self) -> usize {
        self.all.values().filter(|suspect| suspect.time() < self.timeout).count()
    }

    /// Those that have been for long enough, with the time.
    pub(super) fn confirmed(&self) -> impl Iterator<Item = (&K, &Wrong<T>, Duration)> {
        let confirmed = self.all.iter().filter(|(_, suspect)| suspect.time() >= self.timeout);
        confirmed.map(|(key, suspect)| (key, &suspect.wrong, suspect.time()))
    }
}
