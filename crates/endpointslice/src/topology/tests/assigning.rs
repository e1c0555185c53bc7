//! Hints for given slices.

use super::super::allocation::{Allocation, Allocations};
use super::super::assign::valid_hints;
use super::*;

type Counts<'a> = &'a [(&'a str, usize)];

/// Cases 1 to 8 are upstream's.
#[test]
fn hints_are_valid_for_zones_with_capacity_up_to_the_maximum() {
    let allocation = |maximum| Allocation { minimum: 0, maximum, desired: 1.0 };
    let zones = ["east", "north", "west"].map(|zone| (zone.into(), allocation(3)));
    let allocations = Allocations::new(zones.into());
    let cases: [(Vec<Endpoint>, Counts<'_>, Option<Counts<'_>>); 10] = [
        (vec![], &[], Some(&[])),
        (vec![hinted(ready("east"), &["east"])], &[("east", 2)], Some(&[("east", 1)])),
        (
            vec![
                hinted(not_ready("east"), &["east"]),
                hinted(ready("east"), &["east"]),
                hinted(unknown("east"), &["nowhere"]),
            ],
            &[("east", 2)],
            Some(&[("east", 1)]),
        ),
        (
            vec![
                hinted(ready("east"), &["west"]),
                hinted(ready("east"), &["east"]),
                hinted(ready("west"), &["west"]),
            ],
            &[("east", 1), ("north", 3), ("west", 1)],
            Some(&[("east", 1), ("west", 2)]),
        ),
        (vec![hinted(ready("east"), &["nowhere"])], &[], None),
        (vec![ready("east")], &[], None),
        (vec![hinted(ready("east"), &[])], &[], None),
        (vec![hinted(ready("east"), &["east"]), hinted(ready("east"), &["east"])], &[("east", 2)], None),
        // A hint for several zones counts for each.
        (vec![hinted(ready("east"), &["east", "west"])], &[], Some(&[("east", 1), ("west", 1)])),
        (vec![hinted(ready("east"), &["east", "nowhere"])], &[], None),
    ];
    for (endpoints, counted, expected) in cases {
        let slice = slice(endpoints);
        assert_eq!(valid_hints(&slice, &counts(counted), &allocations), expected.map(counts), "{slice:?}");
    }
    let without_zones =
        EndpointHints { for_nodes: Some(vec![ForNode { name: "node".into() }]), for_zones: None };
    let slice = slice(vec![Endpoint { hints: Some(without_zones), ..ready("east") }]);
    assert_eq!(valid_hints(&slice, &ZoneCounts::new(), &allocations), None);
}

/// A slice that needs no write keeps valid hints, and is reopened in its turn if they are no longer valid.
#[test]
fn untouched_slices_are_reopened_only_if_their_hints_no_longer_fit() {
    let shares = shares(&[("east", 1), ("west", 1)]);
    let fits = slice(vec![hinted(ready("east"), &["east"]), hinted(ready("east"), &["west"])]);
    let too_many = slice(vec![hinted(ready("east"), &["east"]), hinted(ready("east"), &["east"])]);
    let (mut create, mut update) = (vec![], vec![]);
    let outcome = add_hints(&shares, &mut create, &mut update, &[&fits, &too_many]);
    assert_eq!(outcome, Ok(counts(&[("east", 2), ("west", 2)])));
    assert_eq!(update.iter().map(zones).collect::<Vec<_>>(), [["west", "east"]]);
}

/// Hints for several zones, set by another client, exceed the maximum with those of the second slice. Upstream writes it
/// in every sync, with the hints it has.
#[test]
fn a_reopened_slice_that_does_not_change_is_not_written() {
    let shares = shares(&[("east", 1), ("west", 1)]);
    let both = hinted(ready("east"), &["east", "west"]);
    let greedy = slice(vec![both.clone(), both]);
    let modest = slice(vec![hinted(ready("east"), &["east"]), hinted(ready("west"), &["west"])]);
    let mut update = vec![];
    let outcome = add_hints(&shares, &mut [], &mut update, &[&greedy, &modest]);
    assert_eq!((outcome, update), (Ok(counts(&[("east", 3), ("west", 3)])), vec![]));
}

/// Upstream writes such a slice in every sync, with no change.
#[test]
fn a_failed_assignment_changes_no_slice() {
    let shares = shares(&[("east", 1), ("west", 1)]);
    let never_hinted = slice(vec![ready("east"), ready("west")]);
    let homeless = Endpoint { zone: None, ..ready("") };
    for homeless in [homeless, ready("")] {
        let mut create = vec![slice(vec![ready("east"), homeless])];
        let (before, mut update) = (create.clone(), vec![]);
        let outcome = add_hints(&shares, &mut create, &mut update, &[&never_hinted]);
        assert_eq!(outcome, Err(NoHints { endpoints: 4, reason: NoHintsReason::EndpointWithoutZone }));
        assert_eq!((create, update), (before, vec![]));
    }
}
