//! The coverage of a run's requests.

use std::collections::BTreeMap;
use std::fmt;

use super::request::{Action, Cell, Request};

/// Counts of one run.
#[derive(Debug, Default, Clone)]
pub struct Coverage {
    /// Requests on each server.
    pub requests: usize,
    /// By status code of the real server; 0 where it panicked, which ends a sequence.
    pub statuses: BTreeMap<u16, usize>,
    /// By cell: requests, and those that succeeded on the real server.
    pub(crate) cells: BTreeMap<Cell, (usize, usize)>,
    /// By name: differences that a deviation explains.
    pub deviations: BTreeMap<&'static str, usize>,
}

impl Coverage {
    pub(crate) fn count(&mut self, request: &Request, status: u16) {
        if !matches!(request.action, Action::Answer | Action::Watch) {
            return;
        }
        self.requests += 1;
        *self.statuses.entry(status).or_default() += 1;
        let (all, succeeded) = self.cells.entry(request.cell).or_default();
        *all += 1;
        *succeeded += usize::from((200..300).contains(&status));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for (cell, count) in &other.cells {
            let sum = self.cells.entry(*cell).or_default();
            *sum = (sum.0 + count.0, sum.1 + count.1);
        }
        for (name, count) in &other.deviations {
            *self.deviations.entry(name).or_default() += count;
        }
    }

    /// The expected cells that no request was in, pairs of resource and verb that never succeeded, and deviations that
    /// nothing needed.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let mut succeeded: BTreeMap<(&str, &str), bool> = BTreeMap::new();
        for cell in super::generator::cells() {
            let count = self.cells.get(&cell);
            if count.is_none() {
                missing.push(format!("{} {} {}", cell.verb, cell.resource, cell.option));
            }
            *succeeded.entry((cell.verb, cell.resource)).or_default() |= count.is_some_and(|(_, ok)| *ok > 0);
        }
        let unneeded =
            super::deviations::ALL.iter().filter(|deviation| !self.deviations.contains_key(deviation.name));
        missing.extend(
            unneeded.map(|deviation| format!("the deviation is not needed any more: {}", deviation.name)),
        );
        let never = succeeded.into_iter().filter(|((verb, _), ok)| !ok && *verb != "bad");
        missing.extend(never.map(|((verb, resource), _)| format!("{verb} {resource} never succeeds")));
        missing
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} requests on each server, {} cells (resource, verb, option)",
            self.requests,
            self.cells.len()
        )?;
        let statuses = self.statuses.iter().map(|(status, count)| format!("{status}: {count}"));
        writeln!(f, "  by status: {}", statuses.collect::<Vec<_>>().join(", "))?;
        let mut verbs: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (cell, (all, ok)) in &self.cells {
            let sum = verbs.entry(cell.verb).or_default();
            *sum = (sum.0 + all, sum.1 + ok);
        }
        let verbs = verbs.iter().map(|(verb, (all, ok))| format!("{verb} {ok}/{all}"));
        write!(f, "  succeeded: {}", verbs.collect::<Vec<_>>().join(", "))?;
        for deviation in super::deviations::ALL {
            let count = self.deviations.get(deviation.name).copied().unwrap_or_default();
            write!(f, "\n  deviation: {} ({}): {count} times", deviation.name, deviation.reason)?;
        }
        Ok(())
    }
}
