//! From nodes to the allocation of each zone.

use super::*;

/// Messages as upstream's events have them, up to the address type.
#[test]
fn the_reason_for_no_hints_is_upstreams_message() {
    let thirds = shares(&[("east", 1), ("north", 1), ("west", 1)]);
    for (shares, endpoints, message) in [
        (&ZoneShares::default(), 9, "Nodes only ready in one zone"),
        (
            &shares(&[("east", 1)]),
            9,
            "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
        ),
        (&thirds, 0, "Insufficient number of endpoints (0 endpoints, 3 zones)"),
        (&thirds, 2, "Insufficient number of endpoints (2 endpoints, 3 zones)"),
        (
            &thirds,
            4,
            "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold \
             (4 endpoints, 3 zones)",
        ),
    ] {
        assert_eq!(shares.allocate(endpoints).unwrap_err().to_string(), message);
    }
    let no_zone = NoHints { endpoints: 3, reason: NoHintsReason::EndpointWithoutZone };
    assert_eq!(no_zone.to_string(), "One or more endpoints do not have a zone specified");
}

#[test]
fn a_minimum_is_five_sixths_rounded_up_and_every_zone_may_have_the_rest() {
    let shares = shares(&[("east", 600), ("north", 30), ("west", 370)]);
    let allocations = shares.allocate(20).unwrap();
    let rows: Vec<_> =
        allocations.iter().map(|(zone, it)| (&**zone, it.minimum, it.maximum, it.desired)).collect();
    assert_eq!(rows, [("east", 10, 12, 12.0), ("north", 1, 3, 1.0), ("west", 7, 9, 7.4)]);
    assert_eq!((allocations.maximum("west"), allocations.maximum("south")), (9, 0));
}
