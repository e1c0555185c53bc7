//! The time of the change that a slice carries.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::RandomState;
use jiff::Timestamp;

use crate::model::{Pod, Service};

/// Computes the annotation `endpoints.kubernetes.io/last-change-trigger-time`, from which consumers measure the latency
/// of a change (`util/trigger_time_tracker.go`).
///
/// Remembers for each Service when its pods became ready, and reports the earliest change since. Memory: 16 bytes for
/// each selected pod.
#[derive(Debug, Default)]
pub struct TriggerTimes {
    services: HashMap<(Arc<str>, Arc<str>), State>,
    /// Seeded at random, because users choose the names of pods.
    hasher: RandomState,
}

#[derive(Debug)]
struct State {
    service_created: Option<i64>,
    /// Hash of the pod's name and the time its Ready condition changed, sorted. A name is only an identity here, and
    /// a collision among the pods of one Service could at worst misdate one annotation.
    pods: Box<[(u64, i64)]>,
}

impl State {
    fn ready_since(&self, pod: u64) -> Option<i64> {
        let position = self.pods.binary_search_by_key(&pod, |(name, _)| *name).ok()?;
        self.pods.get(position).map(|(_, time)| *time)
    }
}

impl TriggerTimes {
    /// The trigger time of slices written now, in RFC 3339 form; `None` if no pod or Service change is newer than the
    /// last call.
    ///
    /// The first call for a Service returns its creation time. Cost: linear in `pods`, plus a sort.
    pub fn compute<'a>(
        &mut self,
        service: &Service,
        pods: impl IntoIterator<Item = &'a Pod>,
    ) -> Option<String> {
        let mut ready = self.ready_times(pods);
        ready.sort_unstable();
        let key = (Arc::clone(&service.namespace), Arc::clone(&service.name));
        let state = State { service_created: service.created, pods: ready.into() };
        let earliest = match self.services.get(&key) {
            None => service.created,
            Some(previous) => earliest_change(previous, &state),
        };
        self.services.insert(key, state);
        format_time(earliest?)
    }

    /// The Services that are remembered, by namespace and name.
    pub fn services(&self) -> impl Iterator<Item = &(Arc<str>, Arc<str>)> {
        self.services.keys()
    }

    /// [`Self::compute`] for a Service that has not changed since the last call: `gone` are pods of that call that have
    /// changed or are no longer selected, `new` those that have changed or are newly selected. `None` if there was no call
    /// for this Service.
    ///
    /// Cost: a pass over 16 bytes for each selected pod, if any has changed.
    #[allow(clippy::option_option, reason = "the inner one is the result of `compute`")]
    pub fn advance<'a>(
        &mut self,
        service: &Service,
        gone: impl IntoIterator<Item = &'a Pod>,
        new: impl IntoIterator<Item = &'a Pod>,
    ) -> Option<Option<String>> {
        let mut new = self.ready_times(new);
        let mut left: Vec<u64> = gone.into_iter().map(|pod| self.hasher.hash_one(&*pod.name)).collect();
        let key = (Arc::clone(&service.namespace), Arc::clone(&service.name));
        let previous = self.services.get_mut(&key)?;
        new.sort_unstable();
        let change = State { service_created: previous.service_created, pods: new.into() };
        let earliest = earliest_change(previous, &change);
        left.extend(change.pods.iter().map(|(name, _)| *name));
        if !left.is_empty() {
            left.sort_unstable();
            let mut pods = std::mem::take(&mut previous.pods).into_vec();
            pods.retain(|(name, _)| left.binary_search(name).is_err());
            pods.extend_from_slice(&change.pods);
            #[allow(clippy::stable_sort_primitive, reason = "a stable sort merges the two sorted runs")]
            pods.sort();
            previous.pods = pods.into();
        }
        Some(earliest.and_then(format_time))
    }

    fn ready_times<'a>(&self, pods: impl IntoIterator<Item = &'a Pod>) -> Vec<(u64, i64)> {
        let ready = |pod: &'a Pod| Some((self.hasher.hash_one(&*pod.name), pod.ready_changed_at()?));
        pods.into_iter().filter_map(ready).collect()
    }

    /// Forgets a Service that was deleted.
    pub fn forget(&mut self, namespace: &str, name: &str) {
        self.services.remove(&(namespace.into(), name.into()));
    }
}

fn earliest_change(previous: &State, current: &State) -> Option<i64> {
    let newer = |pod: &&(u64, i64)| previous.ready_since(pod.0).is_none_or(|before| pod.1 > before);
    let pod_change = current.pods.iter().filter(newer).map(|(_, time)| *time).min();
    let service_change = current.service_created.filter(|created| Some(*created) > previous.service_created);
    pod_change.into_iter().chain(service_change).min()
}

fn format_time(seconds: i64) -> Option<String> {
    let time = Timestamp::from_second(seconds).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Interner, PodFields, ReadyCondition, ServiceFields};

    fn pod(name: &str, ready_since: impl Into<Option<i64>>) -> Pod {
        let ready = ReadyCondition { status: true, last_transition: ready_since.into() };
        Pod::new(PodFields { name, ready, ..PodFields::default() }, &mut Interner::default())
    }

    fn service(created: i64) -> Service {
        let fields = ServiceFields {
            namespace: "ns",
            name: "web",
            created: Some(created),
            ..ServiceFields::default()
        };
        Service::new(fields, &mut Interner::default())
    }

    #[allow(clippy::unnecessary_wraps, reason = "compared with optional times throughout")]
    fn at(second: u32) -> Option<String> {
        Some(format!("1970-01-01T00:00:{second:02}Z"))
    }

    /// Counterparts of upstream's `TestNewServiceNoPods`, `NewServiceExistingPods`, `PodsAdded`, `PodsUpdated`,
    /// `PodsUpdatedNoOp`, `PodDeletedThenAdded`, `ServiceDeletedThenAdded` and `ServiceUpdatedNoPodChange`.
    #[test]
    fn the_trigger_time_is_the_earliest_change_since_the_last_call() {
        let mut times = TriggerTimes::default();
        let old = service(10);
        assert_eq!(times.compute(&old, &[pod("a", 5)]), at(10), "a new Service reports its own creation");
        assert_eq!(times.compute(&old, &[pod("a", 5)]), None, "nothing changed");
        assert_eq!(times.compute(&old, &[pod("a", 5), pod("b", 21), pod("c", 20)]), at(20), "pods added");
        assert_eq!(times.compute(&old, &[pod("a", 31), pod("b", 30), pod("c", 20)]), at(30), "pods updated");
        assert_eq!(times.compute(&old, &[pod("a", 31), pod("b", 30)]), None, "a removed pod has no time");
        assert_eq!(times.compute(&old, &[pod("a", 31), pod("b", 30), pod("c", 20)]), at(20), "it came back");
        assert_eq!(
            times.compute(&service(40), &[pod("a", 31), pod("b", 30), pod("c", 20)]),
            at(40),
            "re-created"
        );
        times.forget("ns", "web");
        assert_eq!(times.compute(&old, &[pod("a", 50)]), at(10), "a forgotten Service is new");
    }

    proptest! {
        #[test]
        fn a_change_gives_the_same_time_as_all_pods(
            syncs in vec(vec((0_u8..12, option::of(0_i64..40)), 0..12), 1..8)
        ) {
            let (mut all, mut changes) = (TriggerTimes::default(), TriggerTimes::default());
            let service = service(10);
            let mut before: BTreeMap<u8, Pod> = BTreeMap::new();
            for sync in syncs {
                let now: BTreeMap<u8, Pod> = sync
                    .into_iter()
                    .map(|(name, ready_since)| (name, pod(&name.to_string(), ready_since)))
                    .collect();
                let gone = before.iter().filter(|(name, pod)| now.get(name) != Some(pod)).map(|(_, pod)| pod);
                let new = now.iter().filter(|(name, pod)| before.get(name) != Some(pod)).map(|(_, pod)| pod);
                let advanced = changes.advance(&service, gone, new);
                let advanced = advanced.unwrap_or_else(|| changes.compute(&service, now.values()));
                prop_assert_eq!(advanced, all.compute(&service, now.values()));
                before = now;
            }
        }
    }

    /// Counterpart of upstream's `TestSyncServiceMissing`.
    #[test]
    fn only_the_given_service_is_forgotten() {
        let mut times = TriggerTimes::default();
        let other = Service { name: "other".into(), ..service(20) };
        assert_eq!(times.compute(&service(10), []), at(10));
        assert_eq!(times.compute(&other, []), at(20));
        for (namespace, name) in [("ns", "web"), ("ns", "never"), ("elsewhere", "other")] {
            times.forget(namespace, name);
        }
        assert_eq!(times.compute(&other, []), None, "still known");
        assert_eq!(times.compute(&service(10), []), at(10));
    }
}
