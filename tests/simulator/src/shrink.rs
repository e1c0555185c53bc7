//! A failing history made short: fewer faults, fewer entries, fewer replicas.

use crate::history::{Outcome, run};
use crate::plan::Plan;

/// The most histories that shrinking runs.
const MOST: usize = 2_000;

/// The shortest plan found that still fails, and its outcome with a trace.
pub fn shrink(plan: &Plan) -> (Plan, Outcome) {
    let rule = rule(&run(plan, false));
    let mut shrinker = Shrinker { best: plan.clone(), rule, runs: 0 };
    loop {
        let before = shrinker.best.clone();
        shrinker.drop_faults();
        shrinker.drop_entries();
        shrinker.drop_replicas();
        if shrinker.best == before || shrinker.runs >= MOST {
            break;
        }
    }
    let outcome = run(&shrinker.best, true);
    (shrinker.best, outcome)
}

struct Shrinker {
    best: Plan,
    /// The rule that is broken: another one would be another failure.
    rule: Option<String>,
    runs: usize,
}

/// The beginning of the first failure, without names.
fn rule(outcome: &Outcome) -> Option<String> {
    let words = outcome.failures.first()?.split_whitespace();
    let names = |word: &&str| !word.chars().any(|letter| letter.is_ascii_digit() || letter == ':');
    Some(words.filter(names).take(3).collect::<Vec<_>>().join(" "))
}

impl Shrinker {
    /// Keeps a shorter plan if it fails as well.
    fn try_plan(&mut self, plan: Plan) -> bool {
        if self.runs >= MOST || plan == self.best {
            return false;
        }
        self.runs += 1;
        let fails = rule(&run(&plan, false)) == self.rule;
        if fails {
            self.best = plan;
        }
        fails
    }

    fn drop_faults(&mut self) {
        for fault in self.best.faults() {
            self.try_plan(self.best.clone().without(fault));
        }
    }

    /// Halves, quarters, … of the timeline, down to single entries.
    fn drop_entries(&mut self) {
        let mut chunk = self.best.timeline.len().div_ceil(2);
        while chunk > 0 {
            let mut from = 0;
            while from < self.best.timeline.len() {
                let mut plan = self.best.clone();
                let to = (from + chunk).min(plan.timeline.len());
                plan.timeline.drain(from..to);
                if !self.try_plan(plan) {
                    from += chunk;
                }
            }
            chunk /= 2;
        }
    }

    fn drop_replicas(&mut self) {
        for (replicas, fronts) in [(1, 1), (2, 1), (1, 2)] {
            if replicas <= self.best.setup.replicas && fronts <= self.best.setup.fronts {
                let mut plan = self.best.clone();
                plan.setup.replicas = replicas;
                plan.setup.fronts = fronts;
                if fits(&plan) && self.try_plan(plan) {
                    return;
                }
            }
        }
    }
}

/// True if no entry names a replica or a front that does not exist.
fn fits(plan: &Plan) -> bool {
    use crate::action::Action::{Lag, Partition, Restart};
    plan.timeline.iter().all(|entry| match entry.action {
        Lag { front, .. } | Restart { front, .. } => front < plan.setup.fronts,
        Partition { replica, .. } => replica < plan.setup.replicas,
        _ => true,
    })
}
