//! The steps on a model of a cluster: whatever happens between two observations, two programs never write at once, and both
//! directions end.

mod model;

use endpoint_controller_manager::controllers::Controller;
use proptest::prelude::*;

use super::command;
use super::distribution::Distribution;
use super::facts::{FLAGS, Facts, Form, Goal, LEADER};
use super::gap::gap;
use super::own_flags::{self, OwnFlags};
use super::rules;
use super::steps::{Action, Write, has_begun, next, steps};
use crate::gate::Gate;
use crate::lease::is_of_node;
use crate::preflight::Entries;
use model::{Event, Model};

/// Looks within which a direction ends.
const ENOUGH: usize = 400;

/// Runs the steps of a direction, with an event before each observation. Returns false if they do not end.
fn run(model: &mut Model, goal: Goal, events: &[Event]) -> Result<bool, String> {
    run_for(ENOUGH, model, goal, events)
}

/// The same, broken off after this number of observations.
fn run_for(observations: usize, model: &mut Model, goal: Goal, events: &[Event]) -> Result<bool, String> {
    for observation in 0..observations {
        model.pass(events.get(observation).copied().unwrap_or(Event::None));
        model.check(goal)?;
        let facts = model.facts();
        let Some((_, step)) = next(goal, &facts) else { return Ok(true) };
        match (step.action)(&facts, &Model::settings()) {
            Action::Refuse(reason) => return Err(reason),
            Action::Write(write) => model.write(goal, write),
            Action::Instruct(text) => model.obey(&text),
            Action::Confirm { step, text } => model.confirm(step, &text),
            Action::Canary => model.canary()?,
            Action::Wait(_) => {}
        }
        model.check(goal)?;
    }
    Ok(false)
}

/// The action of the next step.
fn action(goal: Goal, facts: &Facts) -> Action {
    let (_, step) = next(goal, facts).expect("a step");
    (step.action)(facts, &Model::settings())
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

    /// The leader of kube-controller-manager must not fail by itself here: then both write until ours has stopped. On hosts of
    /// other names than their nodes, no pod shows which of them leads.
    #[test]
    fn a_rollback_never_has_two_writers(
        nodes in 1..4_u8,
        releases in any::<bool>(),
        (is_seen, prefix) in prop_oneof![Just((false, "")), Just((true, "")), Just((true, "host-"))],
        events in proptest::collection::vec(event(), 0..40),
    ) {
        let mut model = Model::on_hosts(prefix, nodes, releases, is_seen);
        prop_assert_eq!(run(&mut model, Goal::Handover, &events), Ok(true));
        prop_assert!(model.ours_writes() && !model.built_in_writes());
        prop_assert_eq!(run(&mut model, Goal::Rollback, &events), Ok(true));
        prop_assert!(!model.ours_writes() && model.built_in_writes());
    }

    /// A handover that is broken off at any observation is rolled back.
    #[test]
    fn a_handover_is_rolled_back_from_anywhere(
        nodes in 1..4_u8,
        is_seen in any::<bool>(),
        observations in 0..60_usize,
    ) {
        let mut model = Model::new(nodes, false, is_seen);
        prop_assert!(run_for(observations, &mut model, Goal::Handover, &[]).is_ok());
        prop_assert_eq!(run(&mut model, Goal::Rollback, &[]), Ok(true));
        prop_assert!(!model.ours_writes() && model.built_in_writes());
        prop_assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true), "and again");
        prop_assert!(model.ours_writes() && !model.built_in_writes());
    }

    /// Its record is still on the Lease.
    #[test]
    fn a_handover_that_was_broken_off_and_undone_by_hand_begins_anew(
        nodes in 1..4_u8,
        is_seen in any::<bool>(),
        observations in 0..60_usize,
    ) {
        let mut model = Model::new(nodes, false, is_seen);
        prop_assert!(run_for(observations, &mut model, Goal::Handover, &[]).is_ok());
        model.roll_back_by_hand();
        prop_assert!(model.built_in_writes() && !model.ours_writes());
        match run(&mut model, Goal::Handover, &[]) {
            // Where flags cannot be seen, what the operator has confirmed counts while the Lease is held; a canary does not.
            Err(reason) => {
                prop_assert!(!is_seen && reason == model::WRITES, "{}", reason);
                prop_assert_eq!(run(&mut model, Goal::Rollback, &[]), Ok(true));
                prop_assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
            }
            ended => prop_assert_eq!(ended, Ok(true)),
        }
        prop_assert!(model.ours_writes() && !model.built_in_writes());
    }

    /// The record of a migration that ended is still on the Lease when it was undone without the command.
    #[test]
    fn a_migration_that_was_undone_by_hand_begins_anew(nodes in 1..4_u8, is_seen in any::<bool>()) {
        let mut model = Model::new(nodes, false, is_seen);
        prop_assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
        model.roll_back_by_hand();
        prop_assert!(model.built_in_writes() && !model.ours_writes());
        prop_assert!(!has_begun(&model.facts()), "its first checks are due again");
        prop_assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
        prop_assert!(model.ours_writes() && !model.built_in_writes());

        prop_assert_eq!(run(&mut model, Goal::Rollback, &[]), Ok(true));
        model.hand_over_by_hand();
        prop_assert!(model.ours_writes() && !model.built_in_writes());
        prop_assert_eq!(run(&mut model, Goal::Rollback, &[]), Ok(true));
        prop_assert!(!model.ours_writes() && model.built_in_writes());
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
        match action(Goal::Rollback, &model.facts()) {
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
    for write in [Write::Hold, Write::Scale(0)] {
        assert_eq!(action(Goal::Rollback, &model.facts()), Action::Write(write), "{:?}", model.facts());
        model.write(Goal::Rollback, write);
    }
}

/// Of a node that is lost, say: its kubelet does not say that the pod has ended.
#[test]
fn a_rollback_waits_for_no_pod_that_does_not_go_away() {
    let mut model = Model::new(2, false, true);
    assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
    model.lose_pod();
    assert_eq!(run(&mut model, Goal::Rollback, &[]), Ok(true));
    assert!(!model.ours_writes() && model.built_in_writes());
    let facts = model.facts();
    let (from, _) = gap(Goal::Rollback, &facts).unwrap();
    assert_eq!(Some(from), facts.lease.unwrap().renewed, "ours wrote until then");
}

/// Goes on until this step is to be confirmed.
fn run_to(wanted: &str, model: &mut Model, goal: Goal) {
    for _ in 0..ENOUGH {
        model.pass(Event::None);
        match action(goal, &model.facts()) {
            Action::Confirm { step, .. } if step == wanted => return,
            Action::Confirm { step, text } => model.confirm(step, &text),
            Action::Write(write) => model.write(goal, write),
            Action::Wait(_) => {}
            other => panic!("{other:?}"),
        }
    }
    panic!("{wanted} is not asked");
}

/// A command that ended before the answer asks about the next leader, which the operator may not restart too.
#[test]
fn a_leader_that_was_said_to_be_restarted_and_stays_is_named() {
    for goal in [Goal::Handover, Goal::Rollback] {
        let mut model = Model::new(2, true, false);
        if goal == Goal::Rollback {
            assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
        }
        run_to(LEADER, &mut model, goal);
        model.restart(goal == Goal::Rollback, |_| true);
        model.pass(Event::Time(5));
        let asked = model.facts();
        model.answer(&asked, LEADER);
        model.pass(Event::None);
        let facts = model.facts();
        let action = action(goal, &facts);
        let named = format!("{} still holds", facts.built_in_leader());
        assert!(matches!(&action, Action::Instruct(text) if text.contains(&named)), "{action:?}");
        assert_eq!(run(&mut model, goal, &[]), Ok(true), "{goal:?}");
    }
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

/// The action of a handover of mirroring alone, where the pods of ours have these flags.
fn action_with(flags: OwnFlags, change: impl FnOnce(&mut Facts)) -> Action {
    let mut model = Model::new(1, false, true);
    model.start_ours();
    model.write(Goal::Handover, Write::Hold);
    model.pass(Event::Time(5));
    let mut facts = model.facts();
    facts.controllers = vec![Controller::EndpointSliceMirroring];
    facts.ours.flags = vec![flags];
    change(&mut facts);
    action(Goal::Handover, &facts)
}

/// Whatever would let ours write alongside kube-controller-manager ends a handover, and what its pods do not show is asked.
#[test]
fn flags_of_ours_that_do_not_fit_end_a_handover() {
    let action = action_with(OwnFlags::Differ("it differs".to_owned()), |_| {});
    assert!(matches!(&action, Action::Refuse(reason) if reason.contains("flags")), "{action:?}");
    let unknown = || OwnFlags::Unknown("a file".to_owned());
    let action = action_with(unknown(), |_| {});
    assert!(matches!(action, Action::Confirm { step: FLAGS, .. }), "{action:?}");
    let action = action_with(unknown(), |facts| facts.record.confirmed.push(FLAGS.to_owned()));
    assert!(matches!(action, Action::Instruct(_)), "{action:?}");
    assert!(matches!(action_with(OwnFlags::Fit, |_| {}), Action::Instruct(_)));
}

/// Before anything is written.
#[test]
fn flags_that_differ_end_a_handover_before_its_first_write() {
    let mut facts = Model::new(1, false, true).facts();
    facts.ours.flags = vec![OwnFlags::Fit, OwnFlags::Differ("x".to_owned())];
    assert!(matches!(action(Goal::Handover, &facts), Action::Refuse(_)));
}

/// EKS, GKE and AKS show neither pods of kube-controller-manager nor its node.
#[test]
fn a_control_plane_without_pods_and_nodes_is_out_of_sight() {
    let mut facts = Model::new(1, false, false).facts();
    assert!(!facts.is_in_sight());
    let on_a_node = Facts { distribution: Some(Distribution::K3s), ..facts.clone() };
    assert!(on_a_node.is_in_sight());
    facts.ours.form = Form::Processes;
    assert!(facts.is_in_sight(), "the operator says so");
    assert!(Model::new(1, false, true).facts().is_in_sight());
}

/// No instruction edits a manifest: RKE2 undoes that, and Talos has no shell.
#[test]
fn instructions_name_the_page_of_the_distribution() {
    for (distribution, page) in [
        (Some(Distribution::Kubeadm), "#kubeadm"),
        (Some(Distribution::Rke2), "#k3s-rke2"),
        (Some(Distribution::Talos), "#talos"),
        (None, "#elsewhere"),
    ] {
        let action = action_with(OwnFlags::Fit, |facts| facts.distribution = distribution);
        let Action::Instruct(text) = action else { panic!("{action:?}") };
        // The model's own list has those that kubeadm needs; RKE2's files add to the list of the release.
        let value = match distribution {
            Some(Distribution::Rke2) => "\n\n  ,-endpointslice-mirroring-controller\n",
            _ => "\n\n  --controllers=*,bootstrapsigner,tokencleaner,-endpointslice-mirroring-controller\n",
        };
        assert!(text.contains(page) && text.contains(value), "{text}");
        assert!(!text.contains("sed") && !text.contains(".yaml"), "{text}");
    }
}

/// The operator has half an hour for each command; what the programs do by themselves takes seconds.
#[test]
fn steps_of_the_operator_have_no_short_limit() {
    let short = |goal| steps(goal).iter().filter(|step| step.limit.is_some()).map(|step| step.name);
    let of_operator = ["start", "stop", "enable", "disable"];
    for goal in [Goal::Handover, Goal::Rollback] {
        let wrong: Vec<_> =
            short(goal).filter(|name| of_operator.iter().any(|verb| name.starts_with(verb))).collect();
        assert!(wrong.is_empty(), "{goal:?}: {wrong:?}");
        assert!(short(goal).any(|name| name.starts_with("wait until")), "{goal:?}");
    }
}

/// A leader that waits for an approval does not write: the handover is not over.
#[test]
fn a_handover_ends_when_the_takeover_gate_is_open() {
    let mut model = Model::new(2, false, true);
    assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
    let with = |gate: Option<Gate>| {
        let mut facts = model.facts();
        (facts.ours.first_look, facts.gate) = (Some(jiff::SignedDuration::from_mins(5)), gate);
        next(Goal::Handover, &facts).map(|(_, step)| (step.action)(&facts, &Model::settings()))
    };
    assert!(matches!(with(Some(Gate::default())), Some(Action::Wait(_))));
    let held = Gate { held: Some("the controllers would make 3 writes".to_owned()), passed: None };
    let Some(Action::Instruct(text)) = with(Some(held)) else { panic!() };
    assert!(text.contains("3 writes") && text.contains("kubectl -n kube-system annotate lease"), "{text}");
    let acquired = model.facts().lease.unwrap().acquired.unwrap();
    let later = acquired + jiff::SignedDuration::from_secs(40);
    assert_eq!(with(Some(Gate { held: None, passed: Some(later) })), None);
    assert_eq!(with(None), None, "events that may not be read hold up no migration");
    let after_an_hour = |is_ready: bool| {
        let mut facts = model.facts();
        facts.ours.first_look = Some(jiff::SignedDuration::from_mins(5));
        facts.gate = Some(Gate::default());
        facts.lease.as_mut().unwrap().acquired = Some(acquired - jiff::SignedDuration::from_hours(1));
        facts.ours.deployment.as_mut().unwrap().is_ready = is_ready;
        facts.has_passed_gate()
    };
    assert!(after_an_hour(true) && !after_an_hour(false), "its event may be lost");
    let mut facts = model.facts();
    facts.lease.as_mut().unwrap().acquired = None;
    assert!(facts.has_passed_gate(), "without a gate, the time of the acquisition does not matter");
    let mut facts = model.facts();
    facts.gate = Some(Gate { held: None, passed: Some(later) });
    let (_, to) = gap(Goal::Handover, &facts).unwrap();
    assert_eq!(to, later, "the time without a writer ends with it");
}

/// It may be restarted while it waits at its gate: the Lease is not held again, and nothing of the record is lost. Or the command
/// was started again in the moment between two leaders, and did not see the first.
#[test]
fn a_leader_of_ours_that_ends_is_waited_for() {
    let mut model = Model::new(2, false, true);
    assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
    let waits = |has_led: bool, is_ready: bool| {
        let mut facts = model.facts();
        let lease = facts.lease.as_mut().unwrap();
        (lease.holder, lease.live) = (String::new(), false);
        facts.has_led = has_led;
        facts.ours.deployment.as_mut().unwrap().is_ready = is_ready;
        let (_, step) = next(Goal::Handover, &facts).unwrap();
        assert!(matches!((step.action)(&facts, &Model::settings()), Action::Wait(_)), "{}", step.name);
        (step.name == "wait until endpoint-controller-manager leads", facts)
    };
    assert!(waits(true, false).0 && waits(false, true).0);
    let (_, mut facts) = waits(false, false);
    facts.ours.deployment.as_mut().unwrap().replicas = 0;
    assert!(!has_begun(&facts), "the handover was given up");
}

#[test]
fn an_identity_names_its_node() {
    for (identity, node, expected) in [
        ("a_0f3c", "a", true),
        ("a_0f3c", "b", false),
        ("master-1_0f3c", "master-10", false),
        ("a.example.com_0f3c", "a", true),
        ("a_0f3c", "a.example.com", true),
        ("CP-1_0f3c", "cp-1", true),
        ("CP-1.example.com_0f3c", "cp-1", true),
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
        facts.replicas[0].entries = Entries::of_words(&[
            "--controllers=*,-endpoint,-endpointslice,-endpointslicemirroring".to_owned(),
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

/// Silence is that of one leader: another one fills its caches first.
#[test]
fn the_silence_of_a_changed_leader_does_not_count() {
    let mut model = Model::new(2, true, true);
    model.pass(Event::None);
    let before = model.facts();
    model.pass(Event::None);
    let record = rules::silent(&before, &model.facts()).expect("the same leader renewed");
    let mut facts = Facts { record, ..model.facts() };
    assert!(facts.is_silent());
    facts.built_in.as_mut().unwrap().holder = "another_1".to_owned();
    assert!(!facts.is_silent());
    model.pass(Event::BuiltInCrashes);
    let observations = (0..ENOUGH).find(|_| {
        model.pass(Event::None);
        model.facts().built_in_is_led() && model.facts().built_in_leader() != before.built_in_leader()
    });
    assert!(observations.is_some(), "{:?}", model.facts().built_in);
    assert!(rules::silent(&before, &model.facts()).is_none(), "another one leads");
    let mut without = before.clone();
    without.built_in = None;
    assert!(rules::silent(&before, &without).is_none() && rules::silent(&without, &before).is_none());
    assert!(rules::silent(&without, &without).is_some(), "there is none throughout");
}

/// Of a node that was removed while its static pod still runs, say.
#[test]
fn a_canary_is_wanted_if_no_pod_shows_the_leader() {
    let mut model = Model::new(2, true, true);
    model.pass(Event::None);
    let mut facts = model.facts();
    assert!(facts.built_in_is_led() && !facts.is_written_unseen());
    facts.built_in.as_mut().unwrap().holder = "gone_1".to_owned();
    assert!(facts.is_written_unseen());
    facts.built_in.as_mut().unwrap().live = false;
    assert!(!facts.is_written_unseen());
}

#[test]
fn ours_writes_the_canary_under_its_own_name() {
    let wrong = |goal, writers: &[&str]| {
        let writers: Vec<String> = writers.iter().map(|writer| (*writer).to_owned()).collect();
        rules::wrong_writer(goal, "endpoints", &writers).is_some()
    };
    assert!(!wrong(Goal::Handover, &["endpoints"]) && !wrong(Goal::Rollback, &["kube-controller-manager"]));
    assert!(wrong(Goal::Handover, &["kube-controller-manager"]) && wrong(Goal::Rollback, &["endpoints"]));
    assert!(wrong(Goal::Handover, &[]) && wrong(Goal::Handover, &["endpoints", "kube-controller-manager"]));
    let spec = serde_json::json!({"containers": [{"name": "ecm", "args": ["--user-agent-name=endpoints"]}]});
    let spec = serde_json::from_value(spec).unwrap();
    assert_eq!(own_flags::writer(&spec).as_deref(), Some("endpoints"));
}

/// Before anything is changed, because what leads could not be stopped.
#[test]
fn a_rollback_without_the_deployment_of_the_leader_is_refused() {
    let migration = |goal| command::parse(goal, &[]).unwrap_or_else(|_| panic!("the defaults"));
    let mut model = Model::new(1, true, true);
    assert_eq!(run(&mut model, Goal::Handover, &[]), Ok(true));
    let mut facts = model.facts();
    assert_eq!(rules::misfit(&migration(Goal::Rollback), &facts), None);
    facts.ours.deployment = None;
    let reason = rules::misfit(&migration(Goal::Rollback), &facts).unwrap();
    assert!(reason.contains(&Model::settings().deployment) && reason.contains("--deployment"), "{reason}");
    assert_eq!(rules::misfit(&migration(Goal::Handover), &facts), None);
    facts.lease.as_mut().unwrap().live = false;
    assert_eq!(rules::misfit(&migration(Goal::Rollback), &facts), None, "nothing is to be stopped");
}

/// `--dry-run` calls the canary left out unless it is requested.
#[test]
fn a_dry_run_says_which_steps_are_left_out() {
    let migration = command::parse(Goal::Handover, &[]).unwrap_or_else(|_| panic!("the defaults"));
    let mut facts = Model::new(1, true, true).facts();
    let of_canary =
        |facts: &Facts| rules::plan(&migration, facts).lines().nth(4).unwrap_or_default().to_owned();
    let step = "step 5 of 8: see by a canary that kube-controller-manager does not write";
    assert_eq!(of_canary(&facts), format!("{step} (left out)"));
    // Of an earlier command that wanted it.
    facts.record.silent = Some(facts.built_in_leader().to_owned());
    assert_eq!(of_canary(&facts), format!("{step} (done)"));
    facts.record.silent = None;
    facts.wants_canary = true;
    assert_eq!(of_canary(&facts), format!("{step} (to do)"));
}
