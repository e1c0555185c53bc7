use std::collections::BTreeSet;

use super::*;

#[test]
fn a_seed_names_its_sequence() {
    for seed in 0..50 {
        let print = |requests: Vec<Request>| format!("{requests:?}");
        assert_eq!(print(sequence(seed)), print(sequence(seed)));
        assert_ne!(print(sequence(seed)), print(sequence(seed + 1)));
    }
}

#[test]
fn every_cell_is_reached_by_a_hundred_thousand_requests() {
    let reached: BTreeSet<Cell> = (0..1700).flat_map(sequence).map(|request| request.cell).collect();
    let missing: Vec<Cell> = cells().filter(|cell| !reached.contains(cell)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let known: BTreeSet<Cell> = cells().collect();
    let unknown: Vec<&Cell> = reached.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn every_watch_is_closed_once() {
    for seed in 0..100 {
        let requests = sequence(seed);
        let open: Vec<usize> = requests
            .iter()
            .filter(|request| request.action == Action::Watch)
            .map(|request| request.number)
            .collect();
        let closed = requests.iter().filter_map(|request| match request.action {
            Action::Close(watch) | Action::AwaitEnd(watch) => Some(watch),
            _ => None,
        });
        let mut closed: Vec<usize> = closed.collect();
        closed.sort_unstable();
        assert_eq!(open, closed);
    }
}
