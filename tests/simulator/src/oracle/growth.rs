//! The number of slices that replicas created and that are no longer theirs.

use std::collections::{BTreeMap, BTreeSet};

use expected_objects::CONTROLLERS;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::Value;

use super::Write;
use super::end::read;
use crate::action::Action;
use crate::fault::Fault;
use crate::plan::Plan;
use crate::world::World;

/// The slices of an owner that each process may lose beyond those that its endpoints need: three at once, then one after 1, 3
/// and 7 minutes.
const SPARE: usize = 6;

/// The slices that replicas created, by the uid of their owner.
#[derive(Debug, Default)]
pub struct Created(BTreeMap<String, Owned>);

#[derive(Debug, Default)]
struct Owned {
    /// Those of which the process knows.
    names: BTreeSet<String>,
    unanswered: BTreeSet<String>,
    /// The processes that created them.
    processes: BTreeSet<u64>,
    /// The most slices that the endpoints have needed.
    needed: usize,
}

impl Created {
    /// The answer to the create of this slice has arrived. False if it was not a create, or is known.
    fn answered(&mut self, name: &str) -> bool {
        let mut all = self.0.values_mut();
        all.any(|owned| owned.unanswered.remove(name) && owned.names.insert(name.to_owned()))
    }
}

/// True if a policy or another client takes new slices, and leaves their endpoints where they are.
pub fn are_taken(plan: &Plan) -> bool {
    plan.faults().iter().any(|fault| matches!(fault, Fault::ForeignTake | Fault::PolicyReassign))
}

/// True if the controllers may stop creating slices of a Service for a minute, because other clients take its new slices or relabel
/// a few of them.
pub fn may_withhold_creates(plan: &Plan) -> bool {
    /// Slices that may be lost before that.
    const FEW: usize = 3;
    let faults = plan.timeline.iter().filter_map(|entry| entry.action.fault());
    are_taken(plan) || faults.filter(|fault| *fault == Fault::ForeignRelabel).count() >= FEW
}

/// True if a policy gives away some of the slices that it sees, and leaves others.
fn sometimes_reassigns(plan: &Plan) -> bool {
    let mut actions = plan.timeline.iter().map(|entry| &entry.action);
    actions.any(|action| {
        let Action::Policy(policy) = action else { return false };
        policy.percent < 100 && policy.fault() == Fault::PolicyReassign
    })
}

impl World {
    /// Notes a slice that a process creates, and how many its endpoints need.
    pub fn note_create(&self, write: &Write, created: &EndpointSlice) {
        if !self.takes_slices {
            return;
        }
        let metadata = &created.metadata;
        let owner = metadata.owner_references.iter().flatten().next().map(|owner| owner.uid.clone());
        let (Some(owner), Some(name)) = (owner, metadata.name.clone()) else { return };
        let needed = read(self).needed_slices(&owner, self.plan.setup.max);
        self.with(|state| {
            let owned = state.watcher.created.0.entry(owner).or_default();
            owned.unanswered.insert(name);
            owned.processes.insert(write.started.number);
            owned.needed = owned.needed.max(needed);
        });
    }

    /// Counts the slices of an owner when the answer to a create arrives; of others, a process cannot know that they are its own.
    /// Those that were taken are not updated any more and stay until their owner goes: a controller that creates others in their
    /// place must not do so without end.
    pub fn check_growth(&self, name: &str) {
        if !self.takes_slices || !self.with(|state| state.watcher.created.answered(name)) {
            return;
        }
        let objects = read(self);
        let is_ours = |slice: &Value| {
            let label = |key: &str| slice["metadata"]["labels"][key].as_str();
            label(MANAGED_BY).is_some_and(|name| CONTROLLERS.contains(&name))
                && label(SERVICE_NAME) != Some("elsewhere")
        };
        let (taken, most) = self.with(|state| {
            let starts = usize::try_from(state.watcher.starts).unwrap_or(usize::MAX);
            let mut all = state.watcher.created.0.values_mut();
            let owned = all.find(|owned| owned.names.contains(name)).unwrap();
            owned.names.retain(|name| objects.slices.contains_key(name));
            let taken = owned.names.iter().filter(|name| !is_ours(&objects.slices[*name])).count();
            // Of many processes together, no more than twice what is needed, and a few for each start.
            let most = 2 * owned.needed + SPARE * starts;
            // A policy that leaves some writes alone has ended, for all that a process can tell.
            let each = owned.processes.len() * (owned.needed + SPARE);
            (taken, if sometimes_reassigns(&self.plan) { most } else { most.min(each) })
        });
        if taken > most {
            self.violation(format!("{taken} slices like {name} were created and taken, more than {most}"));
        }
    }
}
