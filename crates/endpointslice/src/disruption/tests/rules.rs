//! The rule, case by case.

use super::*;

#[test]
fn a_disruption_needs_the_share_and_three_nodes() {
    let cases: [(usize, usize, bool); 10] = [
        (1, 0, false),
        (2, 0, false),
        (3, 0, true),
        (2, 1, false),
        (8, 1, false),
        (9, 0, true),
        (9, 1, true),
        (17, 3, false),
        (18, 2, true),
        (0, 20, false),
    ];
    for (gone, ready, expected) in cases {
        let kubelets = [vec![lost(100); gone], vec![READY; ready]].concat();
        let found = period(&kubelets, 200).is_ongoing();
        assert_eq!(found, expected, "{gone} lost, {ready} ready");
    }
}

#[test]
fn the_control_plane_counts_only_if_there_are_few_others() {
    let with_control_plane = |workers: usize| {
        let mut found = nodes(&vec![lost(100); workers], Policy::default(), 200);
        for number in 0..3 {
            let control_plane = Node { control_plane: true, ..node(&format!("c{number}"), READY) };
            let _ = found.observe(&control_plane, 200);
        }
        found.scopes().next().map(|state| (state.period, state.lost, state.total))
    };
    assert_eq!(with_control_plane(3), Some((Period::Ongoing, 3, 3)));
    let mut one_not_ready = nodes(&[lost(100), lost(100), not_ready(None)], Policy::default(), 200);
    for number in 0..3 {
        let _ = one_not_ready
            .observe(&Node { control_plane: true, ..node(&format!("c{number}"), lost(100)) }, 200);
    }
    assert_eq!(one_not_ready.scopes().next().map(|state| state.total), Some(2), "whatever their state");
    assert_eq!(with_control_plane(2), Some((Period::Calm, 2, 5)));
}

#[test]
fn a_node_that_is_excluded_by_its_label_does_not_count_and_follows_the_others() {
    let mut found = nodes(&[lost(100), lost(100)], Policy::default(), 200);
    let excluded = Node { excluded_from_disruption: true, ..node("n2", lost(100)) };
    assert_eq!(found.observe(&excluded, 200), Affected::Node);
    assert_eq!(found.hold("n2", 110), Hold::No, "two lost nodes count");
    assert_eq!(found.observe(&node("n3", lost(100)), 200), Affected::All);
    assert_eq!(found.hold("n2", 110), Hold::Open);
}

#[test]
fn a_zone_may_be_disrupted_by_itself() {
    let in_zone = |name: &str, zone: &str, kubelet| Node { zone: Some(zone.into()), ..node(name, kubelet) };
    let mut found = Nodes::new(Policy { scope: Scope::Zone, ..Policy::default() });
    for (name, zone, kubelet) in [
        ("a0", "a", lost(100)),
        ("a1", "a", lost(101)),
        ("a2", "a", lost(102)),
        ("b0", "b", lost(100)),
        ("b1", "b", READY),
        ("b2", "b", READY),
    ] {
        let _ = found.observe(&in_zone(name, zone, kubelet), 200);
    }
    assert_eq!((found.hold("a0", 110), found.hold("b0", 110)), (Hold::Open, Hold::No));
    // A node that moves to another zone is no longer counted in the old one.
    assert_eq!(found.observe(&in_zone("a2", "b", lost(102)), 200), Affected::All);
    assert_eq!(found.hold("a0", 110), Hold::No);
    assert_eq!(found.forget("a0", 200), Affected::Node);
    assert_eq!(found.forget("a1", 200), Affected::All);
    assert_eq!(found.scopes().count(), 1);
}

#[test]
fn an_ongoing_disruption_keeps_what_was_marked_since_the_node_was_lost() {
    let held = |marked, kubelet| hold(marked, kubelet, Period::Ongoing, Policy::default());
    assert_eq!(held(100, lost(100)), Hold::Open);
    assert_eq!(held(99, lost(100)), Hold::Open, "clocks differ");
    assert_eq!(held(98, lost(100)), Hold::Open, "of an earlier loss, and no kubelet has reported");
    assert_eq!(held(100, Kubelet::Unread), Hold::No);
    assert_eq!(held(100, back(150)), Hold::Until(750));
    assert_eq!(held(160, back(150)), Hold::Until(760), "marked after the return");
    assert_eq!(held(100, READY), Hold::Until(700), "the news of the node is late");
    assert_eq!(held(100, not_ready(None)), Hold::No, "the kubelet's word");
    assert_eq!(held(160, not_ready(Some(150))), Hold::No, "the kubelet's word");
    assert_eq!(held(100, not_ready(Some(150))), Hold::Until(750));
}

#[test]
fn the_way_out_is_bounded() {
    let held = |marked, kubelet| hold(marked, kubelet, Period::Ended { at: 500 }, Policy::default());
    assert_eq!(held(110, lost(100)), Hold::Until(1100));
    assert_eq!(held(500, lost(500)), Hold::No, "lost after the disruption");
    assert_eq!(held(110, lost(600)), Hold::Until(1100), "lost again, and no kubelet has reported");
    assert_eq!(held(110, back(700)), Hold::Until(1300));
    assert_eq!(held(110, back(1100)), Hold::No, "was withdrawn before it came back");
    assert_eq!(held(600, back(700)), Hold::No, "lost after the disruption");
    assert_eq!(held(600, READY), Hold::No);
}

#[test]
fn without_a_disruption_everything_is_as_it_is_marked() {
    for kubelet in [READY, back(100), lost(100), Kubelet::Unread] {
        assert_eq!(hold(100, kubelet, Period::Calm, Policy::default()), Hold::No);
    }
}

#[test]
fn a_partition_may_have_an_end() {
    let policy = Policy { end: Some(3600), ..Policy::default() };
    assert_eq!(hold(110, lost(100), Period::Ongoing, policy), Hold::Until(3700));
    assert_eq!(hold(110, lost(100), Period::Ended { at: 3500 }, policy), Hold::Until(3700));
    assert_eq!(hold(110, lost(100), Period::Calm, policy), Hold::No);
    assert_eq!(hold(110, lost(500), Period::Ongoing, policy), Hold::Until(3710), "of an earlier loss");
    for period in [Period::Ongoing, Period::Ended { at: 7200 }] {
        assert!(!hold(110, back(7200), period, policy).at(7200), "withdrawn at the end");
        assert!(!hold(110, not_ready(Some(7200)), period, policy).at(7200), "withdrawn at the end");
    }
    assert_eq!(hold(110, back(3000), Period::Ongoing, policy), Hold::Until(3600));
    assert!(Hold::Until(3700).at(3699) && !Hold::Until(3700).at(3700));
}

#[test]
fn pods_of_the_first_nodes_may_wait_for_the_others() {
    let policy = Policy { confirmation: 20, ..Policy::default() };
    assert_eq!(hold(101, lost(100), Period::Calm, policy), Hold::Until(120));
    assert_eq!(hold(101, READY, Period::Calm, policy), Hold::Until(121));
    assert_eq!(hold(101, lost(100), Period::Ongoing, policy), Hold::Open);
    assert_eq!(hold(98, lost(100), Period::Calm, policy), Hold::No);
}

#[test]
fn a_node_that_is_lost_again_does_not_end_the_way_out_of_others() {
    let mut found = nodes(&[lost(100), lost(100), lost(100), lost(100)], Policy::default(), 200);
    let _ = found.observe(&node("n0", back(210)), 210);
    let _ = found.observe(&node("n1", back(220)), 220);
    let _ = found.observe(&node("n0", lost(230)), 230);
    assert_eq!(found.hold("n2", 105), Hold::Until(820));
    assert_eq!(found.hold("n0", 231), Hold::No, "three lost nodes of four");
}

/// As after a restart of the machine: the container runtime or the network of pods is not ready yet.
#[test]
fn a_node_that_comes_back_not_ready_ends_the_disruption_and_not_the_way_out() {
    for lost_nodes in [3, 18] {
        let mut found = nodes(&vec![lost(100); lost_nodes], Policy::default(), 200);
        for number in 0..lost_nodes / 9 {
            let _ = found.observe(&node(&format!("r{number}"), READY), 200);
        }
        let _ = found.observe(&node("n0", not_ready(Some(210))), 210);
        assert_eq!(found.hold("n0", 105), Hold::Until(810));
        assert_eq!(found.hold("n1", 105), Hold::Until(810));
        let _ = found.observe(&node("n0", back_and_ready(210, 230)), 230);
        assert_eq!(found.hold("n1", 105), Hold::Until(810));
    }
}

#[test]
fn a_node_that_is_ready_long_after_its_return_ends_the_disruption_then() {
    let mut found = nodes(&[vec![lost(100); 17], vec![READY]].concat(), Policy::default(), 200);
    let _ = found.observe(&node("late", not_ready(Some(210))), 210);
    assert_eq!(found.hold("n1", 105), Hold::Open);
    let _ = found.observe(&node("late", back_and_ready(210, 900)), 900);
    assert_eq!(found.hold("n1", 105), Hold::Until(1500));
}

#[test]
fn new_nodes_end_the_disruption_and_not_the_way_out() {
    let mut found = nodes(&[lost(100), lost(100), lost(100)], Policy::default(), 200);
    let _ = found.observe(&node("n3", new(90, 300)), 300);
    assert_eq!(found.hold("n0", 105), Hold::Until(900));
    // A node that was there before, and whose kubelet is restarted.
    let mut found = nodes(&[lost(5_000), lost(5_000), lost(5_000)], Policy::default(), 5_200);
    let _ = found.observe(&node("n3", new(90, 5_300)), 5_300);
    assert_eq!(found.hold("n0", 5_005), Hold::No);
    // Those that are lost afterwards are dead nodes.
    let mut found = nodes(&[lost(400), lost(400), lost(400), new(290, 290)], Policy::default(), 410);
    assert_eq!(found.hold("n0", 405), Hold::No);
    let _ = found.observe(&node("n4", back(300)), 420);
    assert_eq!(found.hold("n0", 405), Hold::No);
}

#[test]
fn a_change_of_one_node_affects_its_pods_unless_a_disruption_begins_or_ends() {
    let mut found = nodes(&[lost(100), lost(100), READY, READY], Policy::default(), 200);
    assert_eq!(found.observe(&node("n0", lost(100)), 200), Affected::Nothing);
    assert_eq!(found.observe(&node("n2", lost(110)), 200), Affected::Node);
    assert_eq!(found.observe(&node("n3", lost(120)), 200), Affected::All);
    assert_eq!(found.observe(&node("n0", back(210)), 210), Affected::All);
    assert_eq!(found.hold("n1", 105), Hold::Until(810));
    assert_eq!(found.hold("n0", 105), Hold::Until(810));
    assert_eq!(found.observe(&node("n1", back(220)), 220), Affected::Node);
    assert_eq!(found.hold("unknown", 105), Hold::No);
}
