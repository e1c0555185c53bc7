//! The steps of a migration, as data: what each does, and the facts by which it is done. Pure.
//!
//! The facts are read anew before each decision, so that a command that was killed continues where it was. No step has a
//! memory but the record on the Lease.

use std::time::Duration;

use super::facts::{FLAGS, Facts, Form, Goal, LEADER, Replica, STANDBYS, START, STOP};
use super::instructions::{self as tell, Settings};

/// A step.
pub(super) struct Step {
    pub(super) name: &'static str,
    /// True if there is nothing left to do.
    pub(super) is_done: fn(&Facts) -> bool,
    /// The action that brings it closer to its end. Called only if it is not done.
    pub(super) action: fn(&Facts, &Settings) -> Action,
    /// The longest wait for it; none where the operator has to act.
    pub(super) limit: Option<Duration>,
}

/// For what the programs and the API server do by themselves. A failover of kube-controller-manager takes 17 s.
const SOON: Option<Duration> = Some(Duration::from_secs(120));

/// The next action of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The migration cannot go on.
    Refuse(String),
    /// A request.
    Write(Write),
    /// For the operator; done when the facts say so.
    Instruct(String),
    /// For the operator, who has to say that it is done, because the cluster does not show it.
    Confirm { step: &'static str, text: String },
    /// A Service, for which kube-controller-manager must write nothing.
    Canary,
    /// Nothing but time.
    Wait(String),
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// Holds our Lease, so that no replica of ours leads.
    Hold,
    /// Releases the held Lease to ours.
    Release,
    /// Scales the Deployment.
    Scale(i32),
    /// Writes the record of a rollback.
    Record,
}

/// The steps in one direction.
pub(super) fn steps(goal: Goal) -> &'static [Step] {
    match goal {
        Goal::Handover => &HANDOVER,
        Goal::Rollback => &ROLLBACK,
    }
}

/// The first step that is not done, with its number.
pub(super) fn next(goal: Goal, facts: &Facts) -> Option<(usize, &'static Step)> {
    steps(goal).iter().enumerate().find(|(_, step)| !(step.is_done)(facts))
}

/// The end of a leader that did not release its Lease.
const EXPIRY: &str = "the Lease of the kube-controller-manager that has ended to expire";

/// The name of the step that is left out unless a canary is wanted.
const SEE_SILENCE: &str = "see by a canary that kube-controller-manager does not write";

/// The name of the step that is left out if ours has no takeover gate.
const PASS_GATE: &str = "wait until its first writes are no more than --takeover-max-writes";

impl Step {
    /// True if nothing was done for it, because nothing is wanted.
    pub(super) fn is_left_out(&self, facts: &Facts) -> bool {
        match self.name {
            SEE_SILENCE => !facts.wants_canary && !facts.is_silent(),
            PASS_GATE => facts.ours.first_look.is_none(),
            _ => false,
        }
    }
}

static HANDOVER: [Step; 8] = [
    Step {
        name: "hold the Lease of endpoint-controller-manager",
        is_done: |facts| is_held_for_handover(facts) || is_released(facts) || is_over(facts),
        action: |facts, settings| {
            if facts.leads() {
                return Action::Refuse(tell::leads_already(facts, settings));
            }
            if let Some(reason) = facts.flags_differ() {
                return Action::Refuse(tell::flags_differ(reason));
            }
            Action::Write(Write::Hold)
        },
        limit: SOON,
    },
    Step {
        name: "start endpoint-controller-manager, which waits for the Lease",
        is_done: |facts| (facts.ours_is_ready() && flags_fit(facts)) || facts.leads() || facts.has_led,
        action: start,
        limit: None,
    },
    Step {
        name: "disable the controllers in the standbys of kube-controller-manager",
        is_done: |facts| facts.leads() || standbys_are(facts, Facts::is_without),
        action: |facts, _| {
            if !facts.has_pods() {
                return Action::Confirm { step: STANDBYS, text: tell::change_standbys(facts, false) };
            }
            change_standby(facts, false)
        },
        limit: None,
    },
    Step {
        name: "disable the controllers in the leader of kube-controller-manager",
        is_done: |facts| facts.leads() || facts.built_ins_have_ended(),
        action: |facts, _| change_leader(facts, false),
        limit: None,
    },
    Step {
        name: SEE_SILENCE,
        is_done: |facts| facts.leads() || is_released(facts) || !facts.wants_canary || facts.is_silent(),
        action: |facts, _| {
            // Without a leader, silence says nothing.
            let is_led = facts.built_in.is_none() || facts.built_in_is_led();
            if is_led { Action::Canary } else { Action::Wait("a kube-controller-manager to lead".to_owned()) }
        },
        limit: None,
    },
    Step {
        name: "release the Lease to endpoint-controller-manager",
        is_done: |facts| facts.leads() || is_released(facts),
        action: |_, _| Action::Write(Write::Release),
        limit: SOON,
    },
    Step {
        name: "wait until endpoint-controller-manager leads",
        is_done: Facts::leads,
        action: |_, settings| Action::Wait(format!("a replica to acquire the Lease {}", settings.lease)),
        limit: SOON,
    },
    Step {
        name: PASS_GATE,
        is_done: |facts| facts.leads() && facts.has_passed_gate(),
        action: |facts, settings| match facts.gate.as_ref().and_then(|gate| gate.held.as_deref()) {
            Some(held) => Action::Instruct(tell::approve(settings, held)),
            None => Action::Wait("endpoint-controller-manager to look at its first writes".to_owned()),
        },
        limit: None,
    },
];

static ROLLBACK: [Step; 6] = [
    Step {
        name: "note the rollback on the Lease of endpoint-controller-manager",
        is_done: |facts| facts.is_begun(Goal::Rollback),
        action: |facts, _| {
            if facts.lease.is_some() { Action::Write(Write::Record) } else { Action::Write(Write::Hold) }
        },
        limit: SOON,
    },
    Step {
        name: "enable the controllers in the standbys of kube-controller-manager",
        // Once both write, the next step is the urgent one. Without a leader, one with the controllers may follow at any time.
        is_done: |facts| {
            facts.both_write() || !facts.built_in_is_led() || standbys_are(facts, Facts::is_with)
        },
        action: |facts, _| {
            if !facts.has_pods() {
                return Action::Confirm { step: STANDBYS, text: tell::change_standbys(facts, true) };
            }
            if !facts.is_led_by_running_replica() {
                return Action::Wait("a kube-controller-manager to lead, which is restarting".to_owned());
            }
            change_standby(facts, true)
        },
        limit: None,
    },
    // Not before: a leader that ends under the hold has no successor.
    Step {
        name: "hold the Lease of endpoint-controller-manager, so that no other replica leads",
        is_done: Facts::is_held,
        action: |_, _| Action::Write(Write::Hold),
        limit: None,
    },
    Step {
        name: "stop endpoint-controller-manager",
        is_done: Facts::ours_has_stopped,
        action: stop,
        limit: None,
    },
    Step {
        name: "enable the controllers in the leader of kube-controller-manager",
        is_done: |facts| {
            let is_changed = || facts.is_confirmed(LEADER) && !facts.leader_stays();
            if facts.has_pods() { facts.all(Facts::is_with) } else { is_changed() }
        },
        action: |facts, _| change_leader(facts, true),
        limit: None,
    },
    Step {
        name: "wait until a kube-controller-manager with the controllers leads",
        is_done: Facts::built_in_leads,
        action: |_, _| {
            Action::Wait("kube-controller-manager to acquire its Lease, as in any failover".to_owned())
        },
        limit: SOON,
    },
];

/// True if this handover has begun, or is over, so that its first checks are of the past.
pub(super) fn has_begun(facts: &Facts) -> bool {
    (HANDOVER[0].is_done)(facts)
}

/// True while the Lease is held for this handover.
fn is_held_for_handover(facts: &Facts) -> bool {
    facts.is_begun(Goal::Handover) && facts.is_held() && !facts.record.released
}

/// True once the Lease was released to ours, and no program has held it since, or the replica that did has ended. A
/// kube-controller-manager that has the controllers again, or ours being stopped, shows that the handover was given up; where
/// flags cannot be seen, what was confirmed does not count after a replica has led, unless this process saw it.
fn is_released(facts: &Facts) -> bool {
    if facts.is_held() || facts.leads() {
        return false;
    }
    let released = facts.record.goal == Some(Goal::Handover) && facts.record.released;
    let is_known = facts.has_pods() || facts.is_begun(Goal::Handover);
    facts.has_led || released && is_known && facts.built_ins_have_ended() && facts.ours_is_started()
}

/// True after a handover: ours leads, and no kube-controller-manager has the controllers.
fn is_over(facts: &Facts) -> bool {
    let released = facts.record.goal == Some(Goal::Handover) && facts.record.released;
    let without = || facts.replicas.iter().all(|replica| !facts.runs_any(replica));
    facts.leads() && if facts.has_pods() { without() } else { released }
}

/// True if ours runs the controllers that change hands, under the Lease, as its pods show or the operator confirmed.
fn flags_fit(facts: &Facts) -> bool {
    facts.flags_differ().is_none() && facts.flags_are_unknown().is_none()
}

/// True if all replicas but the leader are there and satisfy the predicate. Without a known leader, there are no standbys:
/// each replica is changed as the leader is.
fn standbys_are(facts: &Facts, is: fn(&Facts, &Replica) -> bool) -> bool {
    if !facts.has_pods() {
        return facts.is_confirmed(STANDBYS);
    }
    let Some(leader) = facts.leader() else { return true };
    facts.absent.is_empty()
        && facts.replicas.iter().all(|replica| replica.node == leader.node || is(facts, replica))
}

fn start(facts: &Facts, settings: &Settings) -> Action {
    if let Some(reason) = facts.flags_differ() {
        return Action::Refuse(tell::flags_differ(reason));
    }
    if let Some(reason) = facts.flags_are_unknown() {
        return Action::Confirm { step: FLAGS, text: tell::flags_are_unknown(facts, settings, reason) };
    }
    match (facts.ours.form, facts.ours.deployment) {
        (Form::Deployment, None) => Action::Instruct(tell::apply_deployment(settings)),
        (Form::Deployment, Some(it)) if it.replicas == 0 => {
            Action::Write(Write::Scale(facts.record.replicas.unwrap_or(2)))
        }
        (Form::Deployment, Some(_)) => {
            Action::Wait(format!("the Deployment {} to be ready", settings.deployment))
        }
        (Form::StaticPods, _) if facts.ours.pods.is_empty() => Action::Instruct(tell::start_static_pods()),
        (Form::StaticPods, _) => {
            Action::Wait("the static pods of endpoint-controller-manager to be ready".to_owned())
        }
        (Form::Processes, _) => Action::Confirm { step: START, text: tell::start_processes(facts, settings) },
    }
}

fn stop(facts: &Facts, _: &Settings) -> Action {
    match (facts.ours.form, facts.ours.deployment) {
        (Form::Deployment, Some(it)) if it.replicas > 0 => Action::Write(Write::Scale(0)),
        (Form::StaticPods, _) if !facts.ours.pods.is_empty() => {
            Action::Instruct(tell::stop_static_pods(facts))
        }
        (Form::Processes, _) if !facts.is_confirmed(STOP) => {
            Action::Confirm { step: STOP, text: tell::stop_processes() }
        }
        _ => {
            Action::Wait("endpoint-controller-manager to finish its writes and release its Lease".to_owned())
        }
    }
}

/// The next standby to change.
fn change_standby(facts: &Facts, on: bool) -> Action {
    let leader = facts.leader().map(|leader| leader.node.as_str());
    next_change(facts, on, |replica| Some(replica.node.as_str()) != leader)
}

/// The change of the replicas that are left, the leader last.
fn change_leader(facts: &Facts, on: bool) -> Action {
    if facts.has_pods() {
        return next_change(facts, on, |_| true);
    }
    if !facts.is_confirmed(LEADER) {
        return Action::Confirm { step: LEADER, text: tell::change_leader(facts, on) };
    }
    if facts.leader_stays() {
        return Action::Instruct(tell::leader_stays(facts, on));
    }
    Action::Wait(EXPIRY.to_owned())
}

fn next_change(facts: &Facts, on: bool, is_due: impl Fn(&Replica) -> bool) -> Action {
    // A container that is being replaced has its new flags already.
    if let Some(replica) = tell::due(facts, on).into_iter().find(|replica| is_due(replica)) {
        return Action::Instruct(tell::change_replica(facts, replica, on));
    }
    let is_changed = if on { Facts::is_with } else { Facts::is_without };
    let mut open = facts.replicas.iter().filter(|replica| is_due(replica) && !is_changed(facts, replica));
    match open.next().map(|replica| &replica.node).or(facts.absent.first()) {
        Some(node) => Action::Wait(format!("kube-controller-manager on node {node} to run again")),
        None => Action::Wait(EXPIRY.to_owned()),
    }
}
