//! Clients and policies that are hostile to our objects, each alone in a short history.

use random_operations::Operation;
use random_operations::neighbour::{CROWD, Interference};
use serde_json::{Value, json};
use simulator::action::Action;
use simulator::history::Outcome;
use simulator::plan::{Plan, Setup};
use simulator::policy::{Change, Policy};
use simulator::run::one;
use simulator::timeline::numbered;

/// A history of one process, with two endpoints in a slice.
fn history(entries: Vec<(u64, Action)>) -> Outcome {
    history_at(None, entries)
}

/// A history with a limit on the writes of one process a second.
fn history_at(writes_per_second: Option<u32>, entries: Vec<(u64, Action)>) -> Outcome {
    let plan = Plan::of(0);
    let setup = Setup {
        replicas: 1,
        fronts: 1,
        election: false,
        max: 2,
        batch_milliseconds: 0,
        latency_milliseconds: 5,
        quiet_seconds: 6,
        writes_per_second,
        ..plan.setup.clone()
    };
    one(&Plan { rates: Vec::new(), setup, timeline: numbered(entries), ..plan })
}

fn deletion(service: &'static str, pause_milliseconds: u64) -> Action {
    Action::DeleteSlices { service, pause_milliseconds }
}

fn policy(change: Change) -> Action {
    Action::Policy(Policy { change, percent: 100, only_slices: true, milliseconds: Some(300_000) })
}

/// Nothing happens until then.
fn until(seconds: u64) -> (u64, Action) {
    (seconds * 1_000, Action::Touch(Vec::new()))
}

/// Endpoints of a user, with a slice for each of two ports.
fn custom(address: &str) -> Action {
    let subset = |port: u32| json!({"addresses": [{"ip": address}], "ports": [{"port": port}]});
    let object = json!({"metadata": {"name": "front"}, "subsets": [subset(80), subset(81)]});
    operation(Operation::SetEndpoints { name: "front".to_owned(), object })
}

fn operation(operation: Operation) -> Action {
    Action::Operation { operation: Box::new(operation), touch: Vec::new() }
}

fn without_selector() -> Action {
    let object = json!({"metadata": {"name": "front"}, "spec": {"ports": [{"port": 80}]}});
    operation(Operation::CreateService { name: "front".to_owned(), object })
}

#[test]
fn slices_that_are_deleted_one_after_another_are_back_after_two_seconds() {
    let outcome =
        history(vec![(0, Action::Crowd { from: 0, to: 60 }), (5_000, deletion(CROWD, 100)), until(15)]);
    assert_eq!(outcome.failures, [""; 0]);
    assert!(outcome.outage <= 2.0, "{}", outcome.outage);
}

#[test]
fn slices_that_are_deleted_again_and_again_are_back_after_two_seconds() {
    let mut entries = vec![(0, Action::Crowd { from: 0, to: 8 })];
    entries.extend((2..12).map(|count| (count * 2_500, deletion(CROWD, 0))));
    entries.push(until(40));
    let outcome = history(entries);
    assert_eq!(outcome.failures, [""; 0]);
    assert!(outcome.outage <= 2.0, "{}", outcome.outage);
}

#[test]
fn the_rest_of_a_large_plan_does_not_wait_for_a_repair() {
    // More deletions than the limiter has tokens.
    let mut entries = vec![(0, Action::Crowd { from: 0, to: 8 })];
    entries.extend((2..18).map(|count| (count * 2_500, deletion(CROWD, 0))));
    entries.push((44_000, Action::Crowd { from: 8, to: 130 }));
    let delete = Action::Foreign { what: Interference::Delete, pick: 0, of: Some(CROWD) };
    entries.push((44_500, delete));
    entries.push(until(60));
    assert_eq!(history(entries).failures, [""; 0]);
}

#[test]
fn a_policy_that_marks_mirrored_slices_is_no_restored_backup() {
    for change in [Change::Label, Change::Annotate] {
        let entries = vec![
            (0, policy(change)),
            (0, without_selector()),
            (0, custom("10.9.0.1")),
            (10_000, Action::Touch(vec!["front".to_owned()])),
            (20_000, Action::Terminate { replica: 0 }),
            (40_000, custom("10.9.0.2")),
            until(120),
        ];
        assert_eq!(history(entries).failures, [""; 0], "{change:?}");
    }
}

#[test]
fn a_second_writer_of_the_same_mirror_is_no_restored_backup() {
    let mut entries = vec![(0, Action::SecondWriter { milliseconds: 60_000 }), (0, without_selector())];
    entries.extend((1..20).map(|count| (count * 2_500, custom(&format!("10.9.0.{count}")))));
    entries.push(until(60));
    assert_eq!(history(entries).failures, [""; 0]);
}

#[test]
fn slices_that_a_policy_gives_away_are_few() {
    for change in [Change::Manager(Some("someone")), Change::Manager(None), Change::Service] {
        let entries = vec![(0, policy(change)), (0, Action::Crowd { from: 0, to: 2 }), until(240)];
        assert_eq!(history(entries).failures, [""; 0], "{change:?}");
    }
}

#[test]
fn slices_that_another_client_takes_are_few() {
    let takes = Action::TakeSlices { milliseconds: 60_000 };
    let entries = vec![(0, takes), (0, Action::Crowd { from: 0, to: 2 }), until(60)];
    assert_eq!(history(entries).failures, [""; 0]);
}

/// The slice of one family, which the policy makes differ for ever, is written before that of the other is created. What was planned
/// at first was more.
#[test]
fn a_policy_that_marks_a_slice_keeps_no_other_from_being_created_under_a_low_rate() {
    let set = |subsets: Value| {
        let object = json!({"metadata": {"name": "front"}, "subsets": subsets});
        operation(Operation::SetEndpoints { name: "front".to_owned(), object })
    };
    let subset = |number: u32, port: u32| {
        let addresses = json!([{"ip": format!("10.9.0.{number}")}, {"ip": format!("fd00:9::{number}")}]);
        json!({"addresses": addresses, "ports": [{"port": port}]})
    };
    let first = json!([subset(1, 80), subset(3, 81)]);
    let more = json!([{"ip": "10.9.0.1"}, {"ip": "10.9.0.2"}, {"ip": "fd00:9::1"}]);
    let outcome = history_at(
        Some(1),
        vec![
            (
                0,
                Action::Policy(Policy {
                    change: Change::Label,
                    percent: 100,
                    only_slices: true,
                    milliseconds: None,
                }),
            ),
            (0, without_selector()),
            (0, set(first)),
            (925, set(json!([{"addresses": more, "ports": [{"port": 80}]}]))),
            until(60),
        ],
    );
    assert_eq!(outcome.failures, [""; 0]);
}
