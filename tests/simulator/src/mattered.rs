//! Faults that mattered.
//!
//! A fault *mattered* in a history if some step has another outcome ([`crate::steps`]) when the same history happens without
//! it: without that kind of faults, and with the same fates of all other requests and watches. It did not if the program
//! wrote the same objects in the same steps, however often it had to try.

use crate::fault::Fault;
use crate::history::Outcome;
use crate::plan::Plan;

/// The kinds of faults that happened in a history, each with whether it mattered. Runs the history once for each.
pub fn mattered(plan: &Plan, run: &dyn Fn(&Plan) -> Outcome) -> Vec<(Fault, bool)> {
    let measured = Plan { measured: true, ..plan.clone() };
    let with = run(&measured);
    let happened = Fault::ALL.iter().copied().filter(|fault| with.counts.of(*fault) > 0);
    happened.map(|fault| (fault, run(&measured.clone().muting(fault)).steps != with.steps)).collect()
}
