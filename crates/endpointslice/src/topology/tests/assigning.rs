//! Hints for given slices.

use super::super::allocation::{Allocation, Allocations};
use super::super::assign::{ready_endpoints, valid_hints};
use super::*;

type Counts<'a> = &'a [(&'a str, usize)];
type Sizes<'a> = &'a [(usize, usize)];

struct Case<'a> {
    cpu: &'a [(&'a str, u64)],
    create: Vec<EndpointSlice>,
    update: Vec<EndpointSlice>,
    /// Counts, or the beginning of the message.
    outcome: Result<Counts<'a>, &'a str>,
    hints: Vec<Vec<&'a str>>,
}

#[test]
fn each_ready_endpoint_gets_a_zone_or_none_does() {
    let two = || vec![slice(vec![ready("east"), ready("west")])];
    let cases = [
        Case {
            cpu: &[],
            create: vec![],
            update: vec![],
            outcome: Err("Insufficient Node information"),
            hints: vec![],
        },
        Case {
            cpu: &[("east", 1)],
            create: vec![slice(vec![ready("east")])],
            update: vec![],
            outcome: Err("Insufficient Node information"),
            hints: vec![vec!["-"]],
        },
        Case {
            cpu: &[("east", 35), ("north", 35), ("west", 30)],
            create: two(),
            update: vec![],
            outcome: Err("Insufficient number of endpoints (2 endpoints, 3 zones)"),
            hints: vec![vec!["-", "-"]],
        },
        Case {
            cpu: &[("east", 48), ("west", 52)],
            create: two(),
            update: vec![],
            outcome: Ok(&[("east", 1), ("west", 1)]),
            hints: vec![vec!["east", "west"]],
        },
        Case {
            cpu: &[("east", 48), ("west", 52)],
            create: vec![slice(vec![ready("east"), unknown("east"), not_ready("west"), ready("west")])],
            update: vec![],
            outcome: Ok(&[("east", 1), ("west", 1)]),
            hints: vec![vec!["east", "-", "-", "west"]],
        },
        // Twelve endpoints, of which the east has six and should have 4.2: the first of them serves the north.
        Case {
            cpu: &[("east", 35), ("north", 35), ("west", 30)],
            create: vec![
                slice(vec![ready("east"), ready("north")]),
                slice(vec![ready("west"), ready("west"), ready("east")]),
            ],
            update: vec![
                slice(vec![ready("east"), ready("east"), ready("west")]),
                slice(vec![ready("north"), ready("east"), ready("north"), ready("east")]),
            ],
            outcome: Ok(&[("east", 5), ("north", 4), ("west", 3)]),
            hints: vec![
                vec!["north", "north"],
                vec!["west", "west", "east"],
                vec!["east", "east", "west"],
                vec!["north", "east", "north", "east"],
            ],
        },
    ];
    for Case { cpu, mut create, mut update, outcome, hints } in cases {
        let result = add_hints(&shares(cpu), &mut create, &mut update, &[]);
        match outcome {
            Ok(expected) => assert_eq!(result, Ok(counts(expected))),
            Err(message) => {
                let actual = result.unwrap_err().to_string();
                assert!(actual.starts_with(message), "{actual}");
            }
        }
        assert_eq!(create.iter().chain(&update).map(zones).collect::<Vec<_>>(), hints);
    }
}

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

#[test]
fn ready_endpoints_of_all_slices_count() {
    let sized = |ready_count, others| {
        let others =
            (0..others).map(|number| if number % 2 == 0 { not_ready("east") } else { unknown("east") });
        slice((0..ready_count).map(|_| ready("east")).chain(others).collect())
    };
    let cases: [(Sizes<'_>, Sizes<'_>, Sizes<'_>, usize); 5] = [
        (&[], &[], &[], 0),
        (&[(0, 0)], &[], &[], 0),
        (&[(12, 0), (7, 0)], &[], &[], 19),
        (&[(12, 0)], &[(7, 0), (3, 0)], &[(100, 0), (80, 0)], 202),
        (&[(12, 1), (0, 5)], &[(7, 2)], &[(97, 3), (80, 20)], 196),
    ];
    for (create, update, unchanged, expected) in cases {
        let build =
            |sizes: Sizes<'_>| sizes.iter().map(|(ready, others)| sized(*ready, *others)).collect::<Vec<_>>();
        let (mut create, mut update, unchanged) = (build(create), build(update), build(unchanged));
        let all = create.iter().chain(&update).chain(&unchanged);
        assert_eq!(all.flat_map(ready_endpoints).count(), expected);
        // Without shares, the number of endpoints is part of the outcome.
        let unchanged: Vec<&EndpointSlice> = unchanged.iter().collect();
        let outcome = add_hints(&ZoneShares::default(), &mut create, &mut update, &unchanged);
        assert_eq!(outcome.unwrap_err().endpoints, expected);
    }
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
