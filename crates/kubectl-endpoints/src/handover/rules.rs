//! Decisions of a migration beyond its steps: whether it fits the cluster, and what an answer or a canary shows.

use super::command::Migration;
use super::facts::{Facts, Form, Goal, Record};
use super::steps::{Step, steps};
use super::{instructions, write};
use crate::preflight::UPSTREAM;

/// The reason why the command does not fit the cluster.
pub(super) fn misfit(migration: &Migration, facts: &Facts) -> Option<String> {
    if facts.record.goal.is_none() && !facts.is_in_sight() {
        return Some(instructions::is_out_of_sight(facts));
    }
    if migration.flags.ours != Form::Deployment || facts.ours.deployment.is_some() {
        return None;
    }
    if facts.ours.are_static {
        return Some(instructions::are_static_pods(facts));
    }
    (migration.goal == Goal::Rollback && facts.leads())
        .then(|| instructions::has_no_deployment(facts, &migration.settings))
}

/// The text of `--dry-run`.
pub(super) fn plan(migration: &Migration, facts: &Facts) -> String {
    let steps = steps(migration.goal);
    let line = |(index, step): (usize, &Step)| {
        let state = match (step.is_done)(facts) {
            true if step.is_left_out(facts) => "left out",
            true => "done",
            false => "to do",
        };
        format!("step {} of {}: {} ({state})", index + 1, steps.len(), step.name)
    };
    let mut lines: Vec<String> = steps.iter().enumerate().map(line).collect();
    let on = migration.goal == Goal::Rollback;
    let edit = |replica| instructions::change_replica(facts, replica, on);
    lines.extend(instructions::due(facts, on).into_iter().map(|replica| format!("\n{}", edit(replica))));
    lines.join("\n") + "\n"
}

/// Returns the record of a canary for which nothing was written between these facts; none if the leader of
/// kube-controller-manager changed meanwhile: a new leader fills its caches first, and the next observation tries again.
pub(super) fn silent(before: &Facts, after: &Facts) -> Option<Record> {
    let leader = after.built_in_leader();
    (leader == before.built_in_leader())
        .then(|| Record { silent: Some(leader.to_owned()), ..after.record.clone() })
}

/// The record once a step is confirmed that was asked for at earlier facts: the leader from before it must have ended.
pub(super) fn confirmed(asked: &Facts, now: &Facts, step: &str) -> Record {
    let mut record = now.record.clone();
    record.confirmed.push(step.to_owned());
    record.leader = Some(write::built_in_holder(asked));
    record.leader_renewal = now.built_in.as_ref().and_then(|lease| lease.renewed);
    record
}

/// The reason to look closer, if others than the right program wrote the canary: `ours`, by its field manager, or
/// kube-controller-manager.
pub(super) fn wrong_writer(goal: Goal, ours: &str, writers: &[String]) -> Option<String> {
    let expected: &[&str] = match goal {
        Goal::Handover => &[ours],
        Goal::Rollback => &UPSTREAM,
    };
    if matches!(writers, [one] if expected.contains(&&**one)) {
        return None;
    }
    let expected = expected.first().unwrap_or(&"");
    Some(format!("the canary was written by [{}], and {expected} was to write it", writers.join(", ")))
}
