//! Properties of every plan, for random desired endpoints and random existing slices.
//!
//! Replays the saved failures, then searches for new ones:
//!
//! ```text
//! cargo test -p endpointslice --test it plan_properties
//! ```
//!
//! A failure prints the smallest case found and saves its seed to `seeds` alongside this file: commit that file, and
//! the case is replayed from then on. `PROPTEST_CASES=100000` searches longer.

mod checks;
mod generator;
mod up_to_date;

use std::collections::BTreeSet;

use endpointslice::desired::Conditions;
use endpointslice::{SlicePlan, plan};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

pub(crate) use self::checks::identity;
use self::generator::{case, move_to_link_local, pods, set_readiness, shuffled, steps};
use crate::support::{Cluster, NO_WRITES, count, name_of};

fn config() -> ProptestConfig {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/plan_properties/seeds");
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_applied_plan_leaves_the_desired_endpoints(before in case()) {
        let mut after = before.clone();
        after.apply(&before.plan());
        checks::desired_endpoints_and_no_others(&after)?;
        checks::no_endpoint_twice(&after)?;
        checks::no_slice_over_the_maximum(&before, &after)?;
        checks::placeholders_where_nothing_else_is(&before, &after)?;
        checks::hints_as_the_service_asks(&after)?;
    }

    #[test]
    fn planning_again_gives_an_empty_plan(mut cluster in case()) {
        cluster.apply(&cluster.plan());
        let again = cluster.plan();
        prop_assert!(again.is_empty() && count(&again) == NO_WRITES, "{:#?}", again);
    }

    /// A Service being deleted loses endpoints but gets no new slices, so that its plan stays the same.
    #[test]
    fn a_service_being_deleted_gets_no_slices(mut cluster in case()) {
        cluster.service.metadata.deletion_timestamp = Some(generator::epoch());
        let first = cluster.plan();
        let existing: BTreeSet<String> = cluster.slices.iter().map(|slice| name_of(slice).to_owned()).collect();
        cluster.apply(&first);
        prop_assert!(cluster.slices.iter().all(|slice| existing.contains(name_of(slice))));
        let again = cluster.plan();
        for (first, again) in first.types.iter().zip(&again.types) {
            prop_assert_eq!(&first.create, &again.create);
            prop_assert!(again.update.is_empty() && again.delete.is_empty(), "{:#?}", again);
        }
        prop_assert!(again.delete_if_unchanged.is_empty());
    }

    #[test]
    fn the_order_of_the_input_does_not_matter((one, other) in shuffled()) {
        let (one, other) = (one.plan(), other.plan());
        prop_assert_eq!(format!("{one:?}"), format!("{other:?}"), "byte for byte");
        prop_assert_eq!(one, other);
    }

    #[test]
    fn slices_are_read_through_any_pointer(cluster in case()) {
        let shared: Vec<_> = cluster.slices.iter().cloned().map(std::sync::Arc::new).collect();
        let through_arc = plan(&shared, cluster.desired(), &cluster.template(), &cluster.options());
        prop_assert_eq!(through_arc, cluster.plan());
    }

    #[test]
    fn foreign_slices_are_never_updated(cluster in case()) {
        let plan = cluster.plan();
        for update in plan.types.iter().flat_map(|plan| &plan.update) {
            prop_assert!(checks::is_owned(cluster.slice(name_of(update))));
        }
    }

    #[test]
    fn every_write_is_needed(cluster in case()) {
        let plan = cluster.plan();
        checks::each_slice_is_written_once(&plan)?;
        checks::updates_change_something(&cluster, &plan)?;
        checks::one_slice_at_most_is_opened_for_room(&cluster, &plan)?;
        checks::few_slices_are_created(&cluster, &plan)?;
    }

    #[test]
    fn endpoints_stay_in_their_slices(before in case()) {
        let mut after = before.clone();
        after.apply(&before.plan());
        checks::kept_endpoints_did_not_move(&before, &after)?;
    }

    #[test]
    fn readiness_never_moves_an_endpoint(mut before in case(), ready: u64) {
        before.apply(&before.plan());
        let mut after = before.clone();
        set_readiness(&mut after, ready);
        let plan = after.plan();
        prop_assert!(plan.types.iter().all(|plan| plan.create.is_empty() && plan.delete.is_empty()), "{:#?}", plan);
        after.apply(&plan);
        for slice in &after.slices {
            prop_assert_eq!(checks::identities(slice), checks::identities(before.slice(name_of(slice))));
        }
    }

    /// A sync makes a limited number of writes, and the next one plans again.
    #[test]
    fn a_plan_that_is_carried_out_in_parts_costs_no_more_writes(mut cluster in case(), most in 1_usize..4) {
        let mut whole = cluster.clone();
        let writes = whole.apply(&cluster.plan()).total();
        let mut made = 0;
        loop {
            let (plan, left) = first_writes(cluster.plan(), most);
            if left == most {
                break;
            }
            made += cluster.apply(&plan).total();
            prop_assert!(made <= writes, "{made} writes, and {writes} in one go");
        }
        checks::desired_endpoints_and_no_others(&cluster)?;
        checks::no_endpoint_twice(&cluster)?;
    }

    #[test]
    fn statistics_equal_the_counts_of_the_slices(before in case()) {
        let plan = before.plan();
        let mut after = before.clone();
        after.apply(&plan);
        checks::statistics_count_endpoints_and_slices(&after, &plan)?;
    }

    /// Disabling the terminating condition writes the slices that lose an endpoint, with all their endpoints; enabling it
    /// again restores all.
    #[test]
    fn the_terminating_condition_goes_with_the_next_write(mut cluster in case()) {
        cluster.apply(&cluster.plan());
        let before = cluster.clone();
        cluster.conditions = Conditions::ReadyOnly;
        let plan = cluster.plan();
        checks::only_slices_with_endpoints_that_leave_are_written(&cluster, &plan)?;
        cluster.apply(&plan);
        checks::conditions_besides_ready_are_only_where_nothing_was_written(&before, &cluster)?;
        prop_assert!(cluster.plan().is_empty());
        cluster.conditions = Conditions::All;
        cluster.apply(&cluster.plan());
        checks::desired_endpoints_and_no_others(&cluster)?;
    }

    /// Addresses that the API server refuses stay where no endpoint changes, and are nowhere else. (The API server of these
    /// tests panics on a write with one.)
    #[test]
    fn refused_addresses_stay_in_slices_that_are_left_alone(mut before in case(), moved: u64) {
        move_to_link_local(&mut before, moved);
        let mut after = before.clone();
        after.apply(&before.plan());
        checks::refused_addresses_are_where_nothing_changed(&before, &after)?;
        let again = after.plan();
        prop_assert!(again.is_empty(), "{:#?}", again);
        after.slices.iter_mut().flat_map(|slice| &mut slice.endpoints).for_each(|it| it.retain(checks::is_allowed));
        checks::desired_endpoints_and_no_others(&after)?;
    }

    #[test]
    fn slices_that_are_right_but_for_refused_addresses_are_left_alone(mut cluster in case(), moved: u64) {
        cluster.apply(&cluster.plan());
        move_to_link_local(&mut cluster, moved);
        let plan = cluster.plan();
        prop_assert!(plan.is_empty() && count(&plan) == NO_WRITES, "{:#?}", plan);
    }

    /// Slices that are right may be described instead of read.
    #[test]
    fn the_incremental_plan_is_that_of_all(mut cluster in case(), ready: u64, described: u64, steps: bool) {
        if steps {
            cluster.apply(&cluster.plan());
            set_readiness(&mut cluster, ready);
        }
        prop_assert_eq!(up_to_date::plan_incremental_some(&cluster, described)?, cluster.plan());
    }

    /// From nothing, one pod at a time: each step costs one write, or none if the pod is not published.
    #[test]
    fn a_pod_that_comes_or_goes_costs_one_write(all in pods(8), steps in steps(20), max in 1_usize..5) {
        let mut cluster = Cluster { max, ..Cluster::with_pods(0) };
        cluster.sync();
        for step in steps {
            let pod = &all[step % all.len()];
            let present = cluster.pods.iter().position(|present| present == pod);
            match present {
                Some(position) => drop(cluster.pods.remove(position)),
                None => cluster.pods.push(pod.clone()),
            }
            prop_assert!(cluster.sync().total() <= 1);
            checks::desired_endpoints_and_no_others(&cluster)?;
            prop_assert!(cluster.sizes().iter().all(|size| *size <= max));
        }
    }
}

/// The first writes of a plan, in the order in which they are made, and how many more could have been made.
fn first_writes(mut plan: SlicePlan, most: usize) -> (SlicePlan, usize) {
    let mut left = most;
    let mut keep = |slices: &mut Vec<EndpointSlice>| {
        slices.truncate(left);
        left -= slices.len();
    };
    for plan in &mut plan.types {
        if plan.creates_suppressed {
            plan.create.clear();
        }
        keep(&mut plan.create);
        keep(&mut plan.update);
        keep(&mut plan.delete);
    }
    keep(&mut plan.delete_if_unchanged);
    (plan, left)
}
