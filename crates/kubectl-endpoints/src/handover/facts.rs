//! The state of a cluster that decides about the steps of a migration. Pure: no client and no clock.

use endpoint_controller_manager::controllers::Controller;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::own_flags::OwnFlags;
use crate::gate::Gate;
use crate::lease::is_of_node;
use crate::preflight::Entries;

/// The steps that the operator confirms where they cannot be seen.
pub(super) const FLAGS: &str = "flags";
pub(super) const START: &str = "start";
pub(super) const STOP: &str = "stop";
pub(super) const STANDBYS: &str = "standbys";
pub(super) const LEADER: &str = "leader";

/// The direction of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Goal {
    Handover,
    Rollback,
}

/// A Lease as last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeaseFacts {
    /// Empty if it is released.
    pub(super) holder: String,
    pub(super) acquired: Option<Timestamp>,
    pub(super) renewed: Option<Timestamp>,
    /// False if it is released, or was seen without a renewal for its whole duration.
    pub(super) live: bool,
    /// True once it was seen to be renewed, or to expire: until then, `live` may be a holder's that ended long ago.
    pub(super) is_watched: bool,
    /// The number of times that it was acquired by another holder.
    pub(super) transitions: i32,
    /// True if a hold is in force, so that no process acquires it.
    pub(super) is_on_hold: bool,
}

/// A replica of kube-controller-manager, by its mirror pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replica {
    pub(super) node: String,
    /// Those of `--controllers`.
    pub(super) entries: Entries,
    /// The start of its container, in whole seconds; none while it does not run, or ends.
    pub(super) started: Option<Timestamp>,
}

/// The form in which replicas of ours run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Deployment,
    StaticPods,
    Processes,
}

/// The replicas of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ours {
    pub(super) form: Form,
    pub(super) deployment: Option<Deployed>,
    /// The names of pods with our label that have not ended, also of those that terminate.
    pub(super) pods: Vec<String>,
    /// The number of ready ones among them.
    pub(super) ready: usize,
    /// The field manager of its writes (`--user-agent-name`), as far as its flags are known.
    pub(super) writer: String,
    /// The flags of its Deployment, or of each pod.
    pub(super) flags: Vec<OwnFlags>,
    /// The time in which a leader with these flags has looked at its first writes; none without a takeover gate.
    pub(super) first_look: Option<SignedDuration>,
    /// True if the pods are static ones.
    pub(super) are_static: bool,
}

/// The Deployment of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deployed {
    pub(super) replicas: i32,
    /// True if all replicas are of the current template, and ready.
    pub(super) is_ready: bool,
}

/// The facts that the cluster does not show, kept in an annotation of the Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Record {
    pub(super) goal: Option<Goal>,
    /// The nodes whose kube-controller-manager was seen, so that one whose pod is being replaced is not forgotten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) nodes: Vec<String>,
    /// The leader of kube-controller-manager that is to end, where its flags cannot be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) leader: Option<String>,
    /// Its renewal as last seen when the operator confirmed that it was restarted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) leader_renewal: Option<Timestamp>,
    /// The steps that the operator confirmed, where they cannot be seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) confirmed: Vec<String>,
    /// The leader of kube-controller-manager that wrote nothing for a canary; empty if none led because there is no Lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) silent: Option<String>,
    /// The last renewal by the program that stops writing; none for a rollback if our Lease shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_renewal: Option<Timestamp>,
    /// True once the Lease was released for ours.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) released: bool,
    /// The transitions of the Lease when a handover released it, or a rollback held it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transitions: Option<i32>,
    /// The replicas of the Deployment before it was scaled to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replicas: Option<i32>,
}

/// The state of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// The controllers that change hands.
    pub(super) controllers: Vec<Controller>,
    /// True if a canary shows which program writes.
    pub(super) wants_canary: bool,
    /// That of kube-controller-manager's pods, or of the node on which it runs; none if neither is known.
    pub(super) distribution: Option<Distribution>,
    /// Our Lease.
    pub(super) lease: Option<LeaseFacts>,
    /// The Lease of kube-controller-manager.
    pub(super) built_in: Option<LeaseFacts>,
    pub(super) replicas: Vec<Replica>,
    /// Nodes of the record that have no pod of kube-controller-manager now, and still exist.
    pub(super) absent: Vec<String>,
    pub(super) ours: Ours,
    /// The gate of our leader; none if it is not known.
    pub(super) gate: Option<Gate>,
    pub(super) record: Record,
    /// True if a replica of ours has led since this process released the Lease.
    pub(super) has_led: bool,
}

impl Facts {
    /// True if the flags of kube-controller-manager can be seen.
    pub(super) fn has_pods(&self) -> bool {
        !self.replicas.is_empty() || !self.absent.is_empty()
    }

    /// True if a kube-controller-manager may write whose flags cannot be seen: no pod shows any, or the holder of the Lease is none
    /// of those that pods show.
    pub(super) fn is_written_unseen(&self) -> bool {
        let is_unknown = self.absent.is_empty() && self.built_in_is_led() && self.leader().is_none();
        !self.has_pods() || is_unknown
    }

    /// True if there is a kube-controller-manager that the operator can change.
    pub(super) fn is_in_sight(&self) -> bool {
        self.has_pods() || self.distribution.is_some() || self.ours.form == Form::Processes
    }

    /// True while the Lease keeps every replica of ours from beginning to lead.
    pub(super) fn is_held(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.is_on_hold)
    }

    /// True if a replica of ours leads.
    pub(super) fn leads(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.live)
    }

    /// True if the controllers of our leader run, as far as the cluster shows: it has passed its takeover gate, or has none.
    pub(super) fn has_passed_gate(&self) -> bool {
        let Some(gate) = &self.gate else { return true };
        // A leader behind a closed gate is not ready; of processes, nothing tells.
        let is_ready = || self.ours.form == Form::Processes || self.ours_is_ready();
        let has_looked = self.ours.first_look.is_none_or(|time| self.has_led_for(time) && is_ready());
        gate.passed.is_some() || gate.held.is_none() && has_looked
    }

    /// True if ours has led for longer than this. The event of a gate that is open ends after an hour.
    fn has_led_for(&self, time: SignedDuration) -> bool {
        let times = self.lease.as_ref().and_then(|lease| Some((lease.acquired?, lease.renewed?)));
        times.is_some_and(|(acquired, renewed)| renewed.duration_since(acquired) >= time)
    }

    /// The reason why the flags of ours do not fit.
    pub(super) fn flags_differ(&self) -> Option<&str> {
        self.ours.flags.iter().find_map(|flags| match flags {
            OwnFlags::Differ(reason) => Some(reason.as_str()),
            OwnFlags::Fit | OwnFlags::Unknown(_) => None,
        })
    }

    /// The reason why the flags of ours are not known, unless the operator confirmed that they fit.
    pub(super) fn flags_are_unknown(&self) -> Option<&str> {
        let unknown = self.ours.flags.iter().find_map(|flags| match flags {
            OwnFlags::Unknown(reason) => Some(reason.as_str()),
            OwnFlags::Fit | OwnFlags::Differ(_) => None,
        });
        unknown.filter(|_| !self.is_confirmed(FLAGS))
    }

    /// True if the flags of the replica name one of the controllers.
    pub(super) fn runs_any(&self, replica: &Replica) -> bool {
        self.controllers.iter().any(|controller| replica.entries.run(*controller))
    }

    /// True if they name all of them.
    pub(super) fn runs_all(&self, replica: &Replica) -> bool {
        self.controllers.iter().all(|controller| replica.entries.run(*controller))
    }

    /// True if a migration in this direction was begun, and is not an earlier one that ended: of that, nothing counts.
    pub(super) fn is_begun(&self, goal: Goal) -> bool {
        self.record.goal == Some(goal) && !self.has_led_since()
    }

    /// True if a replica of ours has acquired the Lease since a handover released it, or a rollback held it.
    fn has_led_since(&self) -> bool {
        let now = self.lease.as_ref().map(|lease| lease.transitions);
        self.record.transitions.is_some_and(|then| now != Some(then))
    }

    /// The replica that holds the Lease of kube-controller-manager.
    pub(super) fn leader(&self) -> Option<&Replica> {
        let holder = &self.built_in.as_ref().filter(|lease| lease.live)?.holder;
        self.replicas.iter().find(|replica| is_of_node(holder, &replica.node))
    }

    /// The last renewal by a kube-controller-manager with the controllers, if it is the one that the Lease shows.
    pub(super) fn built_in_renewal(&self) -> Option<Timestamp> {
        let lease = self.built_in.as_ref().filter(|lease| lease.live)?;
        let is_built_in = match self.leader() {
            Some(leader) => !self.is_without(leader) || self.holder_has_ended(),
            None if self.has_pods() => !self.built_ins_have_ended(),
            None => self.record.leader.as_ref() == Some(&lease.holder),
        };
        lease.renewed.filter(|_| is_built_in)
    }

    /// True if the operator confirmed a step that cannot be seen.
    pub(super) fn is_confirmed(&self, step: &str) -> bool {
        self.record.confirmed.iter().any(|confirmed| confirmed == step)
    }

    /// True if the replica runs, and runs none of the controllers.
    pub(super) fn is_without(&self, replica: &Replica) -> bool {
        replica.started.is_some() && !self.runs_any(replica)
    }

    /// True if the replica runs, and runs all of the controllers.
    pub(super) fn is_with(&self, replica: &Replica) -> bool {
        replica.started.is_some() && self.runs_all(replica)
    }

    /// True if every replica is there and satisfies the predicate.
    pub(super) fn all(&self, is: fn(&Self, &Replica) -> bool) -> bool {
        self.absent.is_empty() && self.replicas.iter().all(|replica| is(self, replica))
    }

    /// True if no kube-controller-manager with the controllers can write any more: each replica runs without them, and the
    /// Lease is held by none of the processes from before.
    pub(super) fn built_ins_have_ended(&self) -> bool {
        if !self.has_pods() {
            return self.is_confirmed(LEADER) && self.leader_was_restarted();
        }
        self.all(Self::is_without)
            && (!self.built_in_is_led() || self.holder_has_ended() || self.is_led_by_running_replica())
    }

    /// True if a process that was started with other flags holds the Lease of kube-controller-manager, or none does: all were
    /// restarted before the operator confirmed it, so that a renewal since is of one of them.
    fn leader_was_restarted(&self) -> bool {
        let Some(lease) = self.built_in.as_ref().filter(|lease| lease.live) else { return true };
        let is_another = self.record.leader.as_ref().is_some_and(|leader| *leader != lease.holder);
        is_another && lease.renewed > self.record.leader_renewal
    }

    /// True if the leader of kube-controller-manager that was to end has renewed its Lease since the operator confirmed a step.
    pub(super) fn leader_stays(&self) -> bool {
        let lease = self.built_in.as_ref().filter(|lease| lease.live);
        let is_the_same = |lease: &LeaseFacts| self.record.leader.as_ref() == Some(&lease.holder);
        lease.is_some_and(|lease| is_the_same(lease) && lease.renewed > self.record.leader_renewal)
    }

    /// True if a process of the containers of now holds the Lease of kube-controller-manager.
    ///
    /// The kubelet starts a container after the one that it replaces has ended, so that a renewal later than its start is of
    /// the new process. Both times are of the node's clock. Starts are cut to seconds: in the second of the start, it is not
    /// known which process renewed.
    pub(super) fn is_led_by_running_replica(&self) -> bool {
        let Some(lease) = self.built_in.as_ref().filter(|lease| lease.live) else { return false };
        let start = match self.leader() {
            Some(leader) => leader.started,
            // The host has another name than its node: a renewal later than all starts is of none of those that ended.
            None => self.replicas.iter().filter_map(|replica| replica.started).max(),
        };
        start.is_some_and(|start| is_surely_after(lease.renewed, start))
    }

    /// True if the process that holds the Lease of kube-controller-manager has ended: its node's container started after
    /// its last renewal.
    fn holder_has_ended(&self) -> bool {
        let Some(renewed) = self.built_in.as_ref().and_then(|lease| lease.renewed) else { return false };
        self.leader().and_then(|leader| leader.started).is_some_and(|start| renewed < start)
    }

    /// True if a kube-controller-manager with the controllers leads, so that it writes.
    pub(super) fn built_in_leads(&self) -> bool {
        if !self.has_pods() {
            return self.built_in_is_led() && self.is_confirmed(LEADER) && self.leader_was_restarted();
        }
        let is_with = self.leader().map_or_else(|| self.all(Self::is_with), |leader| self.is_with(leader));
        is_with && self.is_led_by_running_replica()
    }

    /// The process that holds the Lease of kube-controller-manager; empty if none does.
    pub(super) fn built_in_leader(&self) -> &str {
        self.built_in.as_ref().filter(|lease| lease.live).map_or("", |lease| &lease.holder)
    }

    /// True if a canary showed that the process that holds the Lease of kube-controller-manager does not write.
    pub(super) fn is_silent(&self) -> bool {
        self.record.silent.as_deref() == Some(self.built_in_leader())
    }

    /// True if the Lease of kube-controller-manager is held.
    pub(super) fn built_in_is_led(&self) -> bool {
        self.built_in.as_ref().is_some_and(|lease| lease.live)
    }

    /// True if both programs write: ours leads, and so does a kube-controller-manager with the controllers.
    pub(super) fn both_write(&self) -> bool {
        self.leads() && self.has_pods() && self.leader().is_some() && self.built_in_leads()
    }

    /// True if ours is ready to lead.
    pub(super) fn ours_is_ready(&self) -> bool {
        match self.ours.form {
            Form::Deployment => self.ours.deployment.is_some_and(|it| it.replicas > 0 && it.is_ready),
            Form::StaticPods => self.ours.ready > 0 && self.ours.ready == self.ours.pods.len(),
            Form::Processes => self.ours_is_started(),
        }
    }

    /// True if ours was stopped, and none of its replicas leads. While the Lease is held, none can begin to: pods of the
    /// Deployment that do not go away, as those on a node that is lost, do not matter.
    pub(super) fn ours_has_stopped(&self) -> bool {
        let is_stopped = match self.ours.form {
            Form::Processes => self.is_confirmed(STOP),
            Form::Deployment => !self.ours_is_started(),
            // The node lifecycle controller marks those of a lost node, which stay.
            Form::StaticPods => self.ours.ready == 0,
        };
        is_stopped && !self.leads()
    }

    /// True if ours is to run, ready or not.
    pub(super) fn ours_is_started(&self) -> bool {
        match self.ours.form {
            Form::Deployment => self.ours.deployment.is_some_and(|it| it.replicas > 0),
            Form::StaticPods => !self.ours.pods.is_empty(),
            Form::Processes => self.is_confirmed(START),
        }
    }
}

/// True if a time is after a start that was cut to seconds.
fn is_surely_after(time: Option<Timestamp>, start: Timestamp) -> bool {
    time.is_some_and(|time| time.duration_since(start) >= SignedDuration::from_secs(1))
}
