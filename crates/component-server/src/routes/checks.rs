//! Health checks.

use std::sync::Arc;

use parking_lot::RwLock;

/// A health check; the error is the reason of the failure.
pub(super) type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Named health checks, which can be added at any time. Clones share them.
///
/// A check must return at once: a page runs all of them, one after the other.
#[derive(Clone, Default)]
pub struct Checks(Arc<RwLock<Vec<(Arc<str>, Check)>>>);

impl Checks {
    /// Creates an empty set. Its page shows a single check `ping`, which passes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check, or replaces the check of that name. The text of an error goes to the log and to the page of this check,
    /// which requires authorization.
    pub fn register(&self, name: &str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        let mut checks = self.0.write();
        let check: Check = Arc::new(check);
        match checks.iter_mut().find(|(other, _)| **other == *name) {
            Some((_, old)) => *old = check,
            None => checks.push((name.into(), check)),
        }
    }

    /// Returns the current checks, so that none runs under the lock.
    pub(super) fn all(&self) -> Vec<(Arc<str>, Check)> {
        let checks = self.0.read().clone();
        if checks.is_empty() { vec![("ping".into(), Arc::new(|| Ok(())))] } else { checks }
    }
}
