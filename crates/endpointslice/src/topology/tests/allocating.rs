//! From nodes to the allocation of each zone.

use super::*;

type Row<'a> = (&'a str, u64, bool, bool);

/// A node: zone, CPU, ready, control plane.
fn shares_of(nodes: &[Row<'_>]) -> ZoneShares {
    let nodes: Vec<Node> = nodes
        .iter()
        .map(|(zone, cpu, ready, control_plane)| Node {
            ready: *ready,
            control_plane: *control_plane,
            ..node(zone, *cpu)
        })
        .collect();
    ZoneShares::from_nodes(&nodes)
}

#[test]
fn shares_are_by_the_cpu_of_nodes_that_count() {
    const UP: (bool, bool) = (true, false);
    const DOWN: (bool, bool) = (false, false);
    const CONTROL: (bool, bool) = (true, true);
    type Nodes<'a> = &'a [(&'a str, u64, (bool, bool))];
    let cases: [(Nodes<'_>, &[(&str, f64)]); 12] = [
        (&[], &[]),
        (&[("east", 4000, UP)], &[]),
        (&[("east", 4000, UP), ("east", 2000, UP)], &[]),
        (&[("east", 4000, UP), ("west", 4000, UP)], &[("east", 0.5), ("west", 0.5)]),
        (&[("east", 4000, DOWN), ("west", 4000, UP)], &[]),
        (&[("east", 4000, UP), ("west", 4000, CONTROL)], &[]),
        (&[("east", 4000, UP), ("west", 4000, UP), ("west", 9000, DOWN)], &[("east", 0.5), ("west", 0.5)]),
        (&[("east", 4000, UP), ("west", 4000, UP), ("west", 9000, CONTROL)], &[("east", 0.5), ("west", 0.5)]),
        (
            &[
                ("east", 2000, UP),
                ("north", 500, UP),
                ("east", 1000, UP),
                ("west", 1500, UP),
                ("east", 2000, UP),
                ("west", 3000, UP),
            ],
            &[("east", 0.5), ("north", 0.05), ("west", 0.45)],
        ),
        // One node that counts without zone or CPU makes all shares impossible.
        (&[("east", 4000, UP), ("west", 4000, UP), ("", 4000, UP)], &[]),
        (&[("east", 4000, UP), ("west", 4000, UP), ("west", 0, UP)], &[]),
        (
            &[("east", 4000, UP), ("west", 4000, UP), ("", 4000, DOWN), ("west", 0, CONTROL)],
            &[("east", 0.5), ("west", 0.5)],
        ),
    ];
    for (nodes, expected) in cases {
        let rows: Vec<Row<'_>> =
            nodes.iter().map(|(zone, cpu, (ready, control))| (*zone, *cpu, *ready, *control)).collect();
        let shares = shares_of(&rows);
        assert!(
            shares.iter().map(|(zone, share)| (&**zone, share)).eq(expected.iter().copied()),
            "{nodes:?}"
        );
        assert_eq!(shares.allocate(10).is_err(), expected.is_empty(), "{nodes:?}");
    }
}

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
