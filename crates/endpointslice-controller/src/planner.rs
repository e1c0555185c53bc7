//! The plan of one Service: by the changes since its last sync where these are known, and otherwise by all of its endpoints.

use std::sync::Arc;

use endpoint_controllers_common::{ChangedPods, PodChanges};
use endpoint_informers::kinds::CachedSlice;
use endpoint_informers::slices::{Snapshot, SyncError, UnsortedSnapshot, decode_all};
use endpointslice::coalescing::{PlannedWrite, Rules, planned_writes};
use endpointslice::desired::{Conditions, Skipped};
use endpointslice::trigger_times::TriggerTimes;
use endpointslice::urgency::prioritize;
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{AddressType, Node, PlanOptions, Service, SlicePlan, SliceTemplate, Urgency};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::planning::{ServicePlanOptions, plan_service};
use crate::sync_cache::SyncCache;

/// The input of a plan: a Service that is served, with its pods and stored objects from one read of the cache.
pub(crate) enum SyncInput {
    /// The pods that have changed since the last sync.
    Changes(Box<Changes>),
    /// All pods.
    All(UnsortedSnapshot),
}

/// A Service, its slices, and the pods that have changed since the last sync that is remembered.
pub(crate) struct Changes {
    pub(crate) sync_cache: SyncCache,
    /// True if the sync cache is of the last sync, false if it is new.
    pub(crate) is_known: bool,
    pub(crate) pods: PodChanges,
    /// The nodes of these pods.
    pub(crate) nodes: Vec<Arc<Node>>,
    pub(crate) slices: Vec<Arc<CachedSlice>>,
}

/// A Service whose pods and slices are ready to be planned.
pub(crate) struct Planner {
    options: PlanOptions,
    input: PlannerInput,
}

enum PlannerInput {
    Changes {
        sync_cache: SyncCache,
        is_known: bool,
        changed: ChangedPods,
        slices: Vec<Arc<CachedSlice>>,
        /// The slices that may be written, decoded.
        open: Vec<EndpointSlice>,
    },
    All {
        snapshot: Snapshot,
        existing: Vec<EndpointSlice>,
        conditions: Conditions,
    },
}

impl SyncInput {
    /// The Service.
    pub(crate) fn service(&self) -> &Arc<Service> {
        match self {
            Self::Changes(changes) => changes.sync_cache.service(),
            Self::All(snapshot) => &snapshot.service,
        }
    }

    /// Sorts, compares and decodes what was read. Not to be called with the cache locked.
    ///
    /// # Errors
    ///
    /// An object can't be decoded.
    pub(crate) fn prepare(self, options: PlanOptions, conditions: Conditions) -> Result<Planner, SyncError> {
        let input = match self {
            Self::Changes(changes) => {
                let Changes { mut sync_cache, is_known, pods, nodes, slices } = *changes;
                let changed = sync_cache.update(pods, &nodes);
                let template = SliceTemplate::for_service(sync_cache.service(), ENDPOINTSLICE_CONTROLLER);
                let open = sync_cache.settle(&slices, &template, &options)?;
                PlannerInput::Changes { sync_cache, is_known, changed, slices, open }
            }
            Self::All(snapshot) => {
                let snapshot = snapshot.sorted();
                let existing = snapshot.existing()?;
                PlannerInput::All { snapshot, existing, conditions }
            }
        };
        Ok(Planner { options, input })
    }
}

impl Planner {
    /// The Service.
    pub(crate) fn service(&self) -> &Arc<Service> {
        match &self.input {
            PlannerInput::Changes { sync_cache, .. } => sync_cache.service(),
            PlannerInput::All { snapshot, .. } => &snapshot.service,
        }
    }

    /// The packing and the hints.
    pub(crate) fn options(&self) -> &PlanOptions {
        &self.options
    }

    /// The time of the change that this sync is for, recorded in `times`.
    pub(crate) fn trigger_time(&self, times: &mut TriggerTimes) -> Option<String> {
        match &self.input {
            PlannerInput::Changes { sync_cache, is_known, changed, .. } => {
                changed.trigger_time(times, sync_cache.service(), *is_known, sync_cache.seen())
            }
            PlannerInput::All { snapshot, .. } => times.compute(&snapshot.service, snapshot.pods()),
        }
    }

    /// The writes, with this trigger time, and the endpoints that are left out.
    ///
    /// # Errors
    ///
    /// A slice can't be decoded.
    pub(crate) fn plan(
        &mut self,
        trigger_time: Option<String>,
    ) -> Result<(SlicePlan, Vec<Skipped>), SyncError> {
        match &mut self.input {
            PlannerInput::Changes { sync_cache, open, .. } => {
                let template = SliceTemplate::for_service(sync_cache.service(), ENDPOINTSLICE_CONTROLLER)
                    .with_trigger_time(trigger_time);
                Ok(sync_cache.plan(open, &template, &self.options)?)
            }
            PlannerInput::All { snapshot, existing, conditions } => {
                let (plan, conditions) = (self.options.clone(), *conditions);
                let options = ServicePlanOptions { plan, conditions, trigger_time };
                let node = |name: &str| snapshot.node(name);
                Ok(plan_service(&snapshot.service, snapshot.pods(), node, existing, &options))
            }
        }
    }

    /// The effects of the writes of a plan of [`Self::plan`], by these rules.
    pub(crate) fn planned_writes(&self, plan: &SlicePlan, rules: Rules) -> Vec<PlannedWrite> {
        match &self.input {
            PlannerInput::Changes { sync_cache, open, .. } => {
                let is_ready_elsewhere = |address_type, ports: &_| sync_cache.has_ready(address_type, ports);
                planned_writes(plan, open, rules, is_ready_elsewhere, sync_cache.pods())
            }
            PlannerInput::All { snapshot, existing, .. } => {
                planned_writes(plan, existing, rules, |_, _| false, snapshot.pods())
            }
        }
    }

    /// The urgency of a plan of [`Self::plan`], whose most urgent writes it puts first.
    pub(crate) fn urgency(&self, plan: &mut SlicePlan) -> Urgency {
        let (stored, sync_cache) = match &self.input {
            PlannerInput::Changes { sync_cache, open, .. } => (open, Some(sync_cache)),
            PlannerInput::All { existing, .. } => (existing, None),
        };
        let ready_elsewhere = |address_type: AddressType| {
            sync_cache.into_iter().flat_map(move |sync_cache| sync_cache.ready_groups(address_type))
        };
        prioritize(plan, stored, self.service().has_local_policy, ready_elsewhere)
    }

    /// The slices as they are stored.
    ///
    /// # Errors
    ///
    /// A slice can't be decoded.
    ///
    /// Cost: that of decoding them.
    pub(crate) fn into_existing(self) -> Result<Vec<EndpointSlice>, SyncError> {
        match self.input {
            PlannerInput::Changes { slices, .. } => Ok(decode_all(&slices)?),
            PlannerInput::All { existing, .. } => Ok(existing),
        }
    }

    /// The sync cache of this sync, if it is worth keeping: Services whose slices need no `updates`, or that have none, are many
    /// at a start, and few of them change soon.
    pub(crate) fn into_sync_cache(self, updates: bool) -> Option<SyncCache> {
        match self.input {
            PlannerInput::Changes { sync_cache, is_known, .. } => (is_known || updates).then_some(sync_cache),
            PlannerInput::All { .. } => None,
        }
    }
}
