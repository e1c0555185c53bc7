//! Transfers between zones.

use std::collections::BTreeMap;

use super::super::allocation::{Allocation, Allocations};
use super::super::transfers::{Open, Transfers, keep_to_maximum};
use super::*;

fn open(homes: &[&str]) -> Vec<Open> {
    homes.iter().map(|zone| Open::at_home((*zone).into())).collect()
}

fn at_home(homes: &[&str]) -> ZoneCounts {
    let mut counts = ZoneCounts::new();
    for zone in homes {
        *counts.entry((*zone).into()).or_default() += 1;
    }
    counts
}

fn hints(endpoints: &[Open]) -> Vec<&str> {
    endpoints.iter().map(|endpoint| &*endpoint.hint).collect()
}

fn allocations(zones: &[(&str, usize, f64)]) -> Allocations {
    let zones = zones.iter().map(|(zone, maximum, desired)| {
        ((*zone).into(), Allocation { minimum: 0, maximum: *maximum, desired: *desired })
    });
    Allocations::new(zones.collect::<BTreeMap<_, _>>())
}

#[test]
fn zones_with_most_to_spare_give_to_those_that_lack_most() {
    type Counts<'a> = &'a [(&'a str, usize)];
    type Case<'a> = (&'a [(&'a str, f64)], Counts<'a>, Counts<'a>, Counts<'a>);
    let cases: [Case<'_>; 9] = [
        (&[], &[], &[], &[]),
        // Rounding alone moves nothing.
        (
            &[("east", 2.3), ("north", 2.2), ("west", 2.0)],
            &[("east", 2), ("north", 2), ("west", 2)],
            &[],
            &[],
        ),
        // The last 0.2 and 0.3 stay where they are, although 0.5 to the west would be slightly better.
        (
            &[("east", 3.2), ("north", 3.2), ("west", 4.6)],
            &[("east", 11)],
            &[("east", 7)],
            &[("north", 3), ("west", 4)],
        ),
        // Of two zones that lack less than one, the one that lacks more gets it.
        (
            &[("east", 4.0), ("north", 3.7), ("west", 3.3)],
            &[("east", 11)],
            &[("east", 7)],
            &[("north", 4), ("west", 3)],
        ),
        // Of two zones with a surplus, the one with the larger one gives.
        (
            &[("east", 3.0), ("north", 4.6), ("west", 4.4)],
            &[("north", 6), ("west", 6)],
            &[("north", 1), ("west", 2)],
            &[("east", 3)],
        ),
        // More endpoints than were allocated for, or inconsistent counts: no zone receives.
        (&[("east", 2.0), ("west", 2.0)], &[("east", 3), ("west", 4)], &[], &[]),
        (&[("east", -2.0), ("west", -2.0)], &[("east", 3), ("west", 4)], &[], &[]),
        // A zone without an entry has no endpoints. Of equals, the first by name gives and receives.
        (
            &[("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0)],
            &[("c", 2), ("d", 2)],
            &[("c", 1), ("d", 1)],
            &[("a", 1), ("b", 1)],
        ),
        // Half of one is enough if the other side is a whole one short, less isn't.
        (&[("a", 2.5), ("b", 1.0), ("c", 3.6)], &[("a", 3), ("c", 4)], &[("a", 1)], &[("b", 1)]),
    ];
    for (desired, present, giving, receiving) in cases {
        let zones: Vec<_> = desired.iter().map(|(zone, desired)| (*zone, 99, *desired)).collect();
        let transfers = Transfers::plan(&allocations(&zones), &counts(present));
        let expected = Transfers { giving: counts(giving), receiving: counts(receiving) };
        assert_eq!(transfers, expected, "{desired:?} {present:?}");
    }
}

#[test]
fn endpoints_are_lent_in_order() {
    type Counts<'a> = &'a [(&'a str, usize)];
    type Case<'a> = (&'a [&'a str], Counts<'a>, Counts<'a>, &'a [&'a str]);
    let cases: [Case<'_>; 5] = [
        (&[], &[], &[], &[]),
        (&["east"], &[("east", 1)], &[("west", 1)], &["west"]),
        (
            &["west", "east", "east", "east"],
            &[("east", 2)],
            &[("north", 1), ("south", 1)],
            &["west", "north", "south", "east"],
        ),
        // The zone that still receives most comes first.
        (
            &["east", "east", "east", "east", "east"],
            &[("east", 4)],
            &[("north", 1), ("south", 3)],
            &["south", "south", "north", "south", "east"],
        ),
        // Some of those that should give can't be moved: as many as can are.
        (&["east", "west"], &[("east", 3)], &[("north", 3)], &["north", "west"]),
    ];
    for (homes, giving, receiving, expected) in cases {
        let mut endpoints = open(homes);
        let mut present = at_home(homes);
        let transfers = Transfers { giving: counts(giving), receiving: counts(receiving) };
        transfers.carry_out(&mut endpoints, &mut present);
        assert_eq!(hints(&endpoints), expected);
        for (zone, count) in present {
            assert_eq!(count, expected.iter().filter(|hint| **hint == &*zone).count(), "{zone}");
        }
    }
}

/// Upstream leaves all four cases as they are and writes them again in every sync.
#[test]
fn no_zone_keeps_more_than_its_maximum() {
    for (zones, homes, expected) in [
        // A zone without capacity keeps nothing.
        (&[("a", 2, 2.0), ("b", 2, 2.0)][..], &["a", "b", "x", "x"][..], &["a", "b", "a", "b"][..]),
        // Rounding would leave `b` without any.
        (&[("a", 2, 2.6), ("b", 1, 1.0)], &["a", "a", "a"], &["b", "a", "a"]),
        // The zone that lacks most may be full already.
        (&[("a", 1, 1.9), ("b", 2, 1.1)], &["a", "b", "x"], &["a", "b", "b"]),
        // No zone below its maximum, which takes hints for several zones.
        (&[("a", 1, 1.0)], &["a", "x"], &["a", "x"]),
    ] {
        let mut endpoints = open(homes);
        let mut present = at_home(homes);
        keep_to_maximum(&mut endpoints, &mut present, &allocations(zones));
        assert_eq!(hints(&endpoints), expected);
    }
}

#[test]
fn lent_endpoints_move_before_others_leave_their_zone() {
    let mut endpoints = open(&["b", "b", "a"]);
    endpoints[2].hint = "b".into();
    let mut present = counts(&[("b", 3)]);
    keep_to_maximum(&mut endpoints, &mut present, &allocations(&[("a", 1, 0.5), ("b", 2, 2.5)]));
    assert_eq!(hints(&endpoints), ["b", "b", "a"]);
    assert_eq!(present, counts(&[("a", 1), ("b", 2)]));
}
