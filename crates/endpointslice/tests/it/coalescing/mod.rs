//! Writes that wait for others: nothing that decides about traffic waits, and nothing else is lost.
//!
//! `routes.rs` decides about traffic as kube-proxy does, from slices alone, and knows nothing of the rules that it checks.

mod examples;
mod history;
mod routes;

use std::time::Duration;

use endpointslice::SlicePlan;
use endpointslice::coalescing::{HeldBack, PlannedWrite, Rules, Waiting, planned_writes};
use endpointslice::model::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use proptest::prelude::*;

use self::history::{World, world};
use crate::support::{Cluster, Writes, count};

/// The longest wait.
const LONGEST: Duration = Duration::from_secs(5);

impl Cluster {
    fn planned_writes(&self, plan: &SlicePlan) -> Vec<PlannedWrite> {
        let rules = Rules::of(&self.compact_service(), &self.hints());
        let rules = if self.desired().skipped().is_empty() { rules } else { rules.urgent() };
        let pods: Vec<Pod> = self.pods.iter().map(Pod::from).collect();
        planned_writes(plan, &self.slices, rules, |_, _| false, &pods)
    }

    /// Plans, holds back what may wait, and writes the rest.
    fn sync_deferring(&mut self, waiting: &mut Waiting, now: Duration) -> (Writes, HeldBack) {
        let mut plan = self.plan();
        let writes = self.planned_writes(&plan);
        let held = waiting.hold_back(&mut plan, writes, now, LONGEST, self.trigger_time.as_deref());
        *waiting = held.waiting.clone();
        (self.apply(&plan), held)
    }
}

/// The writes of a plan, without trigger times.
fn undated(plan: &SlicePlan) -> Vec<[Vec<EndpointSlice>; 3]> {
    let undated = |slices: &[EndpointSlice]| {
        let mut slices = slices.to_vec();
        for slice in &mut slices {
            let annotations = slice.metadata.annotations.get_or_insert_default();
            annotations.remove(endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME);
        }
        slices
    };
    plan.types.iter().map(|plan| [&plan.create, &plan.update, &plan.delete].map(|it| undated(it))).collect()
}

/// True if the elements of `part` are in `whole`, in the same order.
fn is_part(part: &[EndpointSlice], whole: &[EndpointSlice]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|slice| whole.any(|other| other == slice))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A consumer sends traffic to the same endpoints as if each plan was carried out at once.
    #[test]
    fn no_change_of_traffic_waits(world in world(1..5)) {
        let World { mut cluster, steps } = world;
        let (mut waiting, mut now) = (Waiting::default(), Duration::ZERO);
        let mut at_once = cluster.clone();
        for step in steps {
            now += step.after;
            step.take(&mut cluster);
            step.take(&mut at_once);
            cluster.sync_deferring(&mut waiting, now);
            at_once.sync();
            prop_assert_eq!(routes::of(&cluster), routes::of(&at_once));
        }
    }

    /// Writes that are made are those of the plan, with all their changes.
    #[test]
    fn what_is_written_is_part_of_the_plan(world in world(1..5)) {
        let World { mut cluster, steps } = world;
        let (mut waiting, mut now) = (Waiting::default(), Duration::ZERO);
        for step in steps {
            now += step.after;
            step.take(&mut cluster);
            let plan = cluster.plan();
            let mut part = plan.clone();
            let writes = cluster.planned_writes(&plan);
            let (all, urgent) = (writes.len(), writes.iter().filter(|write| write.urgent).count());
            let held = waiting.hold_back(&mut part, writes, now, LONGEST, cluster.trigger_time.as_deref());
            waiting = held.waiting;
            prop_assert_eq!(all, count(&plan).total() - plan.delete_if_unchanged.len());
            prop_assert_eq!(&part.delete_if_unchanged, &plan.delete_if_unchanged);
            prop_assert!(count(&part).total() >= urgent + held.expired);
            prop_assert!(waiting.is_empty() == (count(&part) == count(&plan)));
            for (part, whole) in undated(&part).iter().zip(undated(&plan)) {
                for (part, whole) in part.iter().zip(&whole) {
                    prop_assert!(is_part(part, whole), "{part:#?} of {whole:#?}");
                }
            }
            cluster.apply(&part);
            history::statistics_count_slices(&cluster, &part)?;
        }
        let plan = cluster.plan();
        let mut whole = plan.clone();
        let writes = cluster.planned_writes(&plan);
        let held = waiting.hold_back(&mut whole, writes, now + LONGEST, LONGEST, cluster.trigger_time.as_deref());
        prop_assert_eq!(undated(&whole), undated(&plan), "after the longest wait the plan is complete");
        prop_assert!(held.waiting.is_empty());
    }

    /// A change that waits is written within 5 s if the Service is synced at the deadline, whatever happens meanwhile.
    #[test]
    fn no_change_waits_longer_than_5_s(world in world(1..5)) {
        let World { mut cluster, steps } = world;
        let (mut waiting, mut now) = (Waiting::default(), Duration::ZERO);
        let mut differences = history::Differences::default();
        for step in steps {
            let next = now + step.after;
            while let Some(deadline) = waiting.deadline(LONGEST).filter(|deadline| *deadline <= next) {
                cluster.sync_deferring(&mut waiting, deadline);
                differences.observe(&cluster, deadline)?;
                prop_assert!(waiting.deadline(LONGEST) > Some(deadline) || waiting.is_empty());
            }
            now = next;
            step.take(&mut cluster);
            cluster.sync_deferring(&mut waiting, now);
            differences.observe(&cluster, now)?;
        }
        while let Some(deadline) = waiting.deadline(LONGEST) {
            cluster.sync_deferring(&mut waiting, deadline);
        }
        prop_assert!(cluster.plan().is_empty());
    }

    /// With one slice for each group, waiting costs no write. (With several it may, if it leads to another choice of slices.)
    #[test]
    fn waiting_costs_no_writes(world in world(100..101)) {
        let World { mut cluster, steps } = world;
        let mut at_once = cluster.clone();
        let (mut waiting, mut now) = (Waiting::default(), Duration::ZERO);
        let (mut deferring, mut without) = (0, 0);
        for step in steps {
            let next = now + step.after;
            while let Some(deadline) = waiting.deadline(LONGEST).filter(|deadline| *deadline <= next) {
                deferring += cluster.sync_deferring(&mut waiting, deadline).0.total();
            }
            now = next;
            step.take(&mut cluster);
            step.take(&mut at_once);
            deferring += cluster.sync_deferring(&mut waiting, now).0.total();
            without += at_once.sync().total();
            prop_assert!(deferring <= without, "{deferring} writes, {without} without waiting");
        }
        deferring += cluster.sync_deferring(&mut waiting, now + LONGEST).0.total();
        prop_assert!(deferring <= without, "{deferring} writes, {without} without waiting");
    }
}
