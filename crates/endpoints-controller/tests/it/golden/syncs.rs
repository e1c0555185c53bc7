//! Whole syncs.

use endpoints_controller::{CAPACITY, Plan, Unready, desired_subsets, plan};
use endpointslice::endpoints::repack_subsets;
use endpointslice::trigger_times::TriggerTimes;
use endpointslice::well_known::{ENDPOINTS_MANAGED_BY, HEADLESS, LAST_CHANGE_TRIGGER_TIME};
use endpointslice::{Interner, Pod, Service};
use k8s_openapi::api::core::v1::{self as core, EndpointSubset, Endpoints};
use serde::Deserialize;

use super::text;

/// The input of one sync of upstream's controller, and its write, if any.
#[derive(Deserialize)]
pub(crate) struct Step {
    service: core::Service,
    pods: Vec<core::Pod>,
    stored: Option<Endpoints>,
    create: Option<Endpoints>,
    update: Option<Endpoints>,
}

/// Replays the syncs of one Service in order; trigger times carry over from one to the next.
pub(crate) fn differences(steps: &[Step]) -> Vec<String> {
    let mut times = TriggerTimes::default();
    let mut interner = Interner::default();
    let differences = steps.iter().enumerate().filter_map(|(number, step)| {
        let ours = step.replay(&mut times, &mut interner);
        let theirs = step.theirs();
        (ours != theirs && !step.is_deliberate(&ours, &theirs))
            .then(|| format!("step {number}\n    ours:   {}\n    theirs: {}", shown(&ours), shown(&theirs)))
    });
    differences.collect()
}

impl Step {
    fn replay(&self, times: &mut TriggerTimes, interner: &mut Interner) -> Plan {
        let service = Service::from_api(&self.service, interner);
        let pods: Vec<Pod> = self.pods.iter().map(|pod| Pod::from_api(pod, interner)).collect();
        let trigger_time = times.compute(&service, &pods);
        let subsets = desired_subsets(&service, &pods, Unready::of(&service, false));
        plan(self.stored.as_ref(), &service, subsets, trigger_time)
    }

    fn theirs(&self) -> Plan {
        match (&self.create, &self.update) {
            (Some(created), None) => Plan::Create(created.clone()),
            (None, Some(updated)) => Plan::Update(updated.clone()),
            (None, None) => Plan::Nothing,
            (Some(_), Some(_)) => panic!("a sync makes one write"),
        }
    }

    /// Two differences are deliberate. First, upstream writes at every sync if the Service carries a reserved label or
    /// has too many pods; we don't if nothing relevant changes. Second, we don't write subsets that truncation leaves
    /// without addresses, for which the API server refuses the whole object.
    fn is_deliberate(&self, ours: &Plan, theirs: &Plan) -> bool {
        match (ours, theirs) {
            (Plan::Nothing, Plan::Update(theirs)) => {
                let stored = self.stored.as_ref().unwrap();
                self.writes_at_every_sync()
                    && text(&without_irrelevant_fields(stored)) == text(&without_irrelevant_fields(theirs))
            }
            (Plan::Create(ours), Plan::Create(theirs)) | (Plan::Update(ours), Plan::Update(theirs)) => {
                has_empty_subset(theirs) && !has_empty_subset(ours) && addresses(ours) == CAPACITY
            }
            _ => false,
        }
    }

    fn writes_at_every_sync(&self) -> bool {
        let labels = self.service.metadata.labels.as_ref();
        let reserved = labels
            .is_some_and(|labels| labels.contains_key(HEADLESS) || labels.contains_key(ENDPOINTS_MANAGED_BY));
        reserved || self.pods.len() > CAPACITY
    }
}

/// The object without the fields that alone cause no write: the trigger time, the headless label, the division into
/// subsets, the resourceVersions of pods.
fn without_irrelevant_fields(endpoints: &Endpoints) -> Endpoints {
    let mut endpoints = endpoints.clone();
    if let Some(annotations) = &mut endpoints.metadata.annotations {
        annotations.remove(LAST_CHANGE_TRIGGER_TIME);
    }
    endpoints.metadata.annotations = endpoints.metadata.annotations.filter(|all| !all.is_empty());
    if let Some(labels) = &mut endpoints.metadata.labels {
        labels.remove(HEADLESS);
    }
    for subset in endpoints.subsets.iter_mut().flatten() {
        let lists = [&mut subset.addresses, &mut subset.not_ready_addresses];
        for target in lists.into_iter().flatten().flatten().filter_map(|address| address.target_ref.as_mut())
        {
            target.resource_version = None;
        }
    }
    endpoints.subsets = endpoints.subsets.map(|subsets| repack_subsets(&subsets));
    endpoints
}

fn has_empty_subset(endpoints: &Endpoints) -> bool {
    endpoints.subsets.iter().flatten().any(|subset| addresses_of(subset) == 0)
}

fn addresses(endpoints: &Endpoints) -> usize {
    endpoints.subsets.iter().flatten().map(addresses_of).sum()
}

fn addresses_of(subset: &EndpointSubset) -> usize {
    subset.addresses.iter().chain(&subset.not_ready_addresses).map(Vec::len).sum()
}

fn shown(plan: &Plan) -> String {
    match plan {
        Plan::Nothing => "nothing".to_owned(),
        Plan::Create(endpoints) => format!("create {}", text(endpoints)),
        Plan::Update(endpoints) => format!("update {}", text(endpoints)),
    }
}
