//! The plan of one Service: by the changes since its last sync where these are known, and otherwise by all of its pods.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use endpoint_controllers_common::{ChangedPods, PodChanges};
use endpoint_informers::kinds::{CachedEndpoints, SelectedPods, UnreadableObjects};
use endpointslice::desired::Skipped;
use endpointslice::model::parse_ip;
use endpointslice::trigger_times::TriggerTimes;
use endpointslice::urgency::urgency_of_subsets;
use endpointslice::{Pod, Service, Urgency};
use k8s_openapi::api::core::v1::{EndpointSubset, Endpoints};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_protobuf::Message as _;

use crate::desired::{Unready, address_in_family, desired_subsets};
use crate::error::SyncError;
use crate::metadata::capacity_is_current;
use crate::plan::Plan;
use crate::planning::plan_service;
use crate::sync_cache::{Difference, NeedsAll, SyncCache};

/// The input of a plan: a Service that is served, with its pods and stored objects from one read of the cache.
pub(crate) struct SyncInput {
    pub(crate) service: Arc<Service>,
    pub(crate) unready: Unready,
    pub(crate) stored: Option<Arc<CachedEndpoints>>,
    pub(crate) pods: Pods,
}

/// The pods of a Service.
pub(crate) enum Pods {
    /// Those that have changed since the last sync that is remembered.
    Changes {
        sync_cache: Box<SyncCache>,
        /// True if the sync cache is of the last sync, false if it is new.
        is_known: bool,
        changes: PodChanges,
    },
    /// All of them; some objects could not be decoded.
    All(SelectedPods, UnreadableObjects),
}

/// A Service whose pods and Endpoints are ready to be planned.
pub(crate) struct Planner {
    service: Arc<Service>,
    unready: Unready,
    stored: Option<Arc<CachedEndpoints>>,
    /// The stored object, if its content is needed.
    decoded: Option<Endpoints>,
    pods: PlannerPods,
}

enum PlannerPods {
    Changes {
        sync_cache: Box<SyncCache>,
        is_known: bool,
        changed: ChangedPods,
        has_one_subset: bool,
        difference: Result<Difference, NeedsAll>,
    },
    All(Vec<Arc<Pod>>),
}

impl SyncInput {
    /// Sorts, compares and decodes what was read. Not to be called with the cache locked.
    ///
    /// # Errors
    ///
    /// An object can't be decoded.
    pub(crate) fn prepare(self) -> Result<Planner, SyncError> {
        let Self { service, unready, stored, pods } = self;
        let encoded = stored.as_ref().map(|stored| stored.encoded.unpack());
        let content = stored.as_ref().zip(encoded.as_deref());
        let decode = || content.map(|(_, encoded)| Endpoints::decode(encoded)).transpose();
        let (decoded, pods) = match pods {
            Pods::Changes { mut sync_cache, is_known, changes } => {
                if let Some((stored, encoded)) = content {
                    sync_cache.observe(stored, encoded);
                }
                let (changed, listed) = sync_cache.update(changes);
                let has_one_subset = listed.is_ok();
                let difference = listed.and_then(|()| sync_cache.compare(content));
                let decoded = if difference.is_ok() { None } else { decode()? };
                (decoded, PlannerPods::Changes { sync_cache, is_known, changed, has_one_subset, difference })
            }
            Pods::All(pods, unreadable) => {
                let (decoded, pods) = (decode()?, pods.sorted());
                if let Some(stored) = &decoded {
                    check_pods(stored, &pods, &unreadable)?;
                }
                (decoded, PlannerPods::All(pods))
            }
        };
        drop(encoded);
        Ok(Planner { service, unready, stored, decoded, pods })
    }
}

impl Planner {
    /// The stored object.
    pub(crate) fn stored(&self) -> Option<&Arc<CachedEndpoints>> {
        self.stored.as_ref()
    }

    /// The time of the change that this sync is for, recorded in `times`. To be called even if nothing is written: the next
    /// trigger time is computed from this one.
    pub(crate) fn trigger_time(&self, times: &mut TriggerTimes) -> Option<String> {
        match &self.pods {
            PlannerPods::Changes { sync_cache, is_known, changed, .. } => {
                changed.trigger_time(times, &self.service, *is_known, sync_cache.seen())
            }
            PlannerPods::All(pods) => times.compute(&self.service, pods.iter().map(|pod| &**pod)),
        }
    }

    /// The write, with this trigger time, and the addresses that are left out because the API server refuses them.
    pub(crate) fn plan(&self, trigger_time: Option<String>) -> (Plan, Vec<Skipped>) {
        match &self.pods {
            PlannerPods::Changes { difference: Ok(Difference::Nothing), .. } => (Plan::Nothing, Vec::new()),
            PlannerPods::Changes { difference: Ok(Difference::Write(head, _)), sync_cache, .. } => {
                (sync_cache.write(head.as_deref(), trigger_time), Vec::new())
            }
            PlannerPods::Changes { difference: Err(NeedsAll), sync_cache, .. } => {
                self.plan_all(&sync_cache.sorted_pods(), trigger_time)
            }
            PlannerPods::All(pods) => self.plan_all(pods, trigger_time),
        }
    }

    /// The urgency of a plan of [`Self::plan`].
    pub(crate) fn urgency(&self, plan: &Plan) -> Urgency {
        if let PlannerPods::Changes { difference: Ok(Difference::Write(_, urgency)), .. } = &self.pods {
            return *urgency;
        }
        let (Plan::Create(planned) | Plan::Update(planned)) = plan else { return Urgency::Metadata };
        let before = self.decoded.as_ref().and_then(|stored| stored.subsets.as_deref());
        let ObjectMeta { labels, annotations, .. } = &planned.metadata;
        let is_truncated = capacity_is_current(annotations.as_ref(), true);
        let uncut = |addresses: &[&str]| if is_truncated { self.uncut(addresses) } else { Vec::new() };
        let after = planned.subsets.as_deref();
        urgency_of_subsets(before.unwrap_or_default(), after.unwrap_or_default(), uncut, labels.as_ref())
    }

    /// The subsets of all pods with one of these addresses, not truncated.
    fn uncut(&self, addresses: &[&str]) -> Vec<EndpointSubset> {
        let addresses: HashSet<IpAddr> = addresses.iter().filter_map(|address| parse_ip(address)).collect();
        let has_address = |pod: &&Pod| {
            address_in_family(&self.service, pod).is_some_and(|address| addresses.contains(&address))
        };
        match &self.pods {
            PlannerPods::Changes { sync_cache, .. } => {
                let pods = sync_cache.seen().iter().map(|seen| &*seen.pod).filter(has_address);
                desired_subsets(&self.service, pods, self.unready)
            }
            PlannerPods::All(pods) => {
                let pods = pods.iter().map(|pod| &**pod).filter(has_address);
                desired_subsets(&self.service, pods, self.unready)
            }
        }
    }

    fn plan_all(&self, pods: &[Arc<Pod>], trigger_time: Option<String>) -> (Plan, Vec<Skipped>) {
        let pods = pods.iter().map(|pod| &**pod);
        plan_service(&self.service, pods, self.decoded.as_ref(), self.unready, trigger_time)
    }

    /// The sync cache of this sync, whose plan it was, if it is worth keeping: Services that are in sync, or without Endpoints, are
    /// many at a start, and few of them change soon.
    pub(crate) fn into_sync_cache(self, plan: &Plan) -> Option<SyncCache> {
        let PlannerPods::Changes { sync_cache, is_known, has_one_subset, .. } = self.pods else {
            return None;
        };
        (has_one_subset && (is_known || matches!(plan, Plan::Update(_)))).then_some(*sync_cache)
    }
}

/// Fails if an address belongs to a pod that could not be decoded: the plan would remove it.
fn check_pods(
    stored: &Endpoints,
    selected: &[Arc<Pod>],
    unreadable: &UnreadableObjects,
) -> Result<(), SyncError> {
    let selected: HashSet<&str> = selected.iter().map(|pod| &*pod.name).collect();
    let subsets = stored.subsets.iter().flatten();
    let addresses = subsets.flat_map(|subset| [&subset.addresses, &subset.not_ready_addresses]);
    let targets = addresses.flatten().flatten().filter_map(|address| address.target_ref.as_ref());
    let pods = targets.filter(|target| target.kind.as_deref() == Some("Pod"));
    let names = pods.map(|pod| pod.name.as_deref().unwrap_or_default());
    for name in names.filter(|name| !selected.contains(name)) {
        unreadable.check_pod(name)?;
    }
    Ok(())
}
