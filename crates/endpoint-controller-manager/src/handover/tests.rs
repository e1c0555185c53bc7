//! The steps on a model of a cluster: whatever happens between two looks, two programs never write at once, and both
//! directions come to their end.

mod model;

use proptest::prelude::*;

use super::facts::{Facts, Goal, is_of_node};
use super::steps::{Action, next};
use model::{Event, Model};

/// Runs the steps of a direction, with an event before each look. Returns false if they do not end.
fn run(model: &mut Model, goal: Goal, events: &[Event]) -> Result<bool, String> {
    for round in 0..400 {
        model.pass(events.get(round).copied().unwrap_or(Event::None));
        model.check(goal)?;
        let facts = model.facts();
        let Some((_, step)) = next(goal, &facts) else { return Ok(true) };
        match (step.action)(&facts, &Model::settings()) {
            Action::Refuse(reason) => return Err(reason),
            Action::Write(write) => model.write(goal, write),
            Action::Instruct(text) => model.obey(&text),
            Action::Confirm { step, text } => model.confirm(step, &text),
            Action::Canary | Action::Wait(_) => {}
        }
        model.check(goal)?;
    }
    Ok(false)
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => Just(Event::None),
        2 => (1..20_u8).prop_map(Event::Time),
        1 => Just(Event::OursCrashes),
    ]
}

/// Besides, the leader of kube-controller-manager crashes.
fn crash() -> impl Strategy<Value = Event> {
    prop_oneof![4 => event(), 1 => Just(Event::BuiltInCrashes)]
}

proptest! {
    #[test]
    fn a_handover_never_has_two_writers(
        nodes in 1..4_u8,
        releases in any::<bool>(),
        is_seen in any::<bool>(),
        events in proptest::collection::vec(crash(), 0..40),
    ) {
        let mut model = Model::new(nodes, releases, is_seen);
        prop_assert_eq!(run(&mut model, Goal::Handover, &events), Ok(true));
        prop_assert!(model.ours_writes() && !model.built_in_writes());
    }

    /// The leader of kube-controller-manager must not fail by itself here: then both write until ours has stopped.
    #[test]
    fn a_rollback_never_has_two_writers(
        nodes in 1..4_u8,
        releases in any::<bool>(),
        is_seen in any::<bool>(),
        events in proptest::collection::vec(event(), 0..40),
    ) {
        let mut model = Model::new(nodes, releases, is_seen);
        prop_assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
        prop_assert_eq!(run(&mut model, Goal::Rollback, &events), Ok(true));
        prop_assert!(!model.ours_writes() && model.built_in_writes());
    }

    /// A handover that is broken off at any look is rolled back.
    #[test]
    fn a_handover_is_rolled_back_from_anywhere(
        nodes in 1..4_u8,
        is_seen in any::<bool>(),
        looks in 0..60_usize,
    ) {
        let mut model = Model::new(nodes, false, is_seen);
        for _ in 0..looks {
            model.pass(Event::None);
            let facts = model.facts();
            let Some((_, step)) = next(Goal::Handover, &facts) else { break };
            match (step.action)(&facts, &Model::settings()) {
                Action::Write(write) => model.write(Goal::Handover, write),
                Action::Instruct(text) => model.obey(&text),
                Action::Confirm { step, text } => model.confirm(step, &text),
                Action::Refuse(_) | Action::Canary | Action::Wait(_) => {}
            }
        }
        prop_assert_eq!(run(&mut model, Goal::Rollback, &[]), Ok(true));
        prop_assert!(!model.ours_writes() && model.built_in_writes());
        prop_assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true), "and again");
        prop_assert!(model.ours_writes() && !model.built_in_writes());
    }
}

/// A leader of kube-controller-manager that fails while its standbys have the controllers again: ours is stopped at once,
/// before any other node is changed.
#[test]
fn a_rollback_stops_ours_first_once_both_write() {
    let mut model = Model::new(3, false, true);
    assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
    model.pass(Event::Time(20));
    // The record, and the first standby.
    for _ in 0..2 {
        let facts = model.facts();
        let (_, step) = next(Goal::Rollback, &facts).unwrap();
        match (step.action)(&facts, &Model::settings()) {
            Action::Write(write) => model.write(Goal::Rollback, write),
            Action::Instruct(text) => model.obey(&text),
            other => panic!("{other:?}"),
        }
    }
    model.pass(Event::Time(3));
    for _ in 0..20 {
        if !model.both_write() {
            model.pass(Event::BuiltInCrashes);
            model.pass(Event::Time(20));
        }
    }
    assert!(model.both_write());
    let facts = model.facts();
    let (_, step) = next(Goal::Rollback, &facts).unwrap();
    assert_eq!(step.name, "stop endpoint-controller-manager", "{facts:?}");
}

#[test]
fn a_handover_with_two_writers_is_refused() {
    let mut model = Model::new(1, false, true);
    model.start_ours();
    for _ in 0..5 {
        model.pass(Event::None);
    }
    assert!(model.both_write());
    let error = run(&mut model, Goal::Handover, &[]).unwrap_err();
    assert!(error.contains("two") || error.contains("both write"), "{error}");
}

#[test]
fn an_identity_names_its_node() {
    for (identity, node, expected) in [
        ("a_0f3c", "a", true),
        ("a_0f3c", "b", false),
        ("master-1_0f3c", "master-10", false),
        ("a.example.com_0f3c", "a", true),
        ("a_0f3c", "a.example.com", true),
        ("_0f3c", "a", false),
        ("", "", false),
    ] {
        assert_eq!(is_of_node(identity, node), expected, "{identity} {node}");
    }
}

/// The last word of `Facts` about ends, where times are cut to seconds.
#[test]
fn a_renewal_in_the_second_of_a_start_decides_nothing() {
    let mut model = Model::new(1, false, true);
    model.pass(Event::None);
    let with = |facts: &Facts, milliseconds: i64| {
        let mut facts = facts.clone();
        let start = facts.replicas[0].started.unwrap();
        facts.replicas[0].flag = super::flag_value::FlagValue::of([
            "--controllers=*,-endpoint,-endpointslice,-endpointslicemirroring",
        ]);
        let renewed = start + jiff::SignedDuration::from_millis(milliseconds);
        facts.built_in.as_mut().unwrap().renewed = Some(renewed);
        facts.built_ins_have_ended()
    };
    let facts = model.facts();
    assert!(with(&facts, -1), "the holder has ended");
    assert!(!with(&facts, 0) && !with(&facts, 999), "it may be the holder from before");
    assert!(with(&facts, 1000), "it is the new process");
}
