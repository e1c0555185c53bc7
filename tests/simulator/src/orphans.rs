//! Endpoints that another client sets just before and just after their Service is deleted, in a part of the seeds: those that
//! existed then go, and later ones stay, however late the watch of Endpoints is.
//!
//! Drawn apart from everything else, so that the other seeds are the histories that they were.

use random_operations::rng::Rng;
use random_operations::{NAMES, Operation};
use serde_json::json;

use crate::action::{Action, KINDS};
use crate::setup::Setup;
use crate::timeline::{Entry, insert};

/// The share of seeds.
const SHARE: usize = 3;

/// Adds such a deletion to the history of a seed, if it is one that has it.
pub(crate) fn add(seed: u64, setup: &Setup, timeline: &mut Vec<Entry>) {
    let mut rng = Rng::new(seed ^ 0x0a0b_0d15_0000_0000);
    if !rng.percent(SHARE) {
        return;
    }
    let name = (*rng.pick(&NAMES)).to_owned();
    let end = timeline.last().map_or(0, |entry| entry.milliseconds);
    let deleted = 3_000 + end.min(u64::try_from(rng.below(20_000)).unwrap());
    let set = |address: &str| {
        let object = json!({"metadata": {"name": name}, "subsets": [{"addresses": [{"ip": address}], "ports": [{"port": 80}]}]});
        operation(Operation::SetEndpoints { name: name.clone(), object })
    };
    let service = json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}});
    let mut entries = vec![
        (deleted - 3_000, operation(Operation::CreateService { name: name.clone(), object: service })),
        (deleted, operation(Operation::DeleteService { name: name.clone() })),
    ];
    let (before, after) = *rng.pick(&[(true, false), (false, true), (false, true), (true, true)]);
    if before {
        entries.push((deleted - rng.pick(&[1, 20, 400, 2_000]), set("10.9.0.1")));
    }
    if after {
        entries.push((deleted + rng.pick(&[1, 5, 20, 60, 400, 3_000]), set("10.9.0.2")));
    }
    let late = *rng.pick(&[0, 0, 100, 1_500, 9_000]);
    if late > 0 {
        let kind = KINDS.iter().position(|kind| *kind == "endpoints").unwrap();
        for front in 0..setup.fronts {
            entries.push((deleted - 500, Action::Lag { front, kind, milliseconds: late }));
            entries.push((deleted + 4_000, Action::Lag { front, kind, milliseconds: 0 }));
        }
    }
    // Until the controller has asked the API server.
    entries.push((deleted + 16_000, Action::Touch(Vec::new())));
    insert(timeline, entries);
}

fn operation(operation: Operation) -> Action {
    Action::Operation { operation: Box::new(operation), touch: Vec::new() }
}
