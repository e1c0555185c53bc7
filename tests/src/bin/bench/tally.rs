//! Counts of the slices' endpoints, kept up to date by watch events.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use tests::observe::View;

use crate::seed::SeededPod;

/// The change of an endpoint that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Awaited {
    Withdrawal,
    FirstAddress,
    Ready,
}

/// Counts over all slices. Cost: an event costs time linear in the size of its slice, whatever the size of the cluster.
#[derive(Debug)]
pub(crate) struct Tally {
    pods_per_service: usize,
    /// The Service of each slice, and the number of its endpoints.
    slices: HashMap<(String, String), (Service, usize)>,
    endpoints: HashMap<Service, usize>,
    /// Services that have as many endpoints as pods.
    complete: usize,
    /// The endpoints that are awaited, and since when.
    awaited: HashMap<SeededPod, (Awaited, Instant)>,
    /// The delays of the changes that came.
    delays: BTreeMap<Awaited, Vec<Duration>>,
    /// The namespaces of those that were not withdrawn, and when they came.
    published: Vec<(String, Instant)>,
    last_event: Instant,
}

type Service = (String, String);

impl Tally {
    pub(crate) fn new(pods_per_service: u32) -> Self {
        Self {
            pods_per_service: pods_per_service as usize,
            slices: HashMap::new(),
            endpoints: HashMap::new(),
            complete: 0,
            awaited: HashMap::new(),
            delays: BTreeMap::new(),
            published: Vec::new(),
            last_event: Instant::now(),
        }
    }

    pub(crate) fn complete(&self) -> usize {
        self.complete
    }

    /// Awaits the endpoint of a pod; its delay counts from now on.
    pub(crate) fn expect(&mut self, pod: SeededPod, awaited: Awaited) {
        self.awaited.insert(pod, (awaited, Instant::now()));
    }

    /// The delays since the last call, shortest first.
    pub(crate) fn take_delays(&mut self, awaited: Awaited) -> Vec<Duration> {
        let mut delays = self.delays.remove(&awaited).unwrap_or_default();
        delays.sort();
        delays
    }

    /// The namespaces of awaited endpoints that were published, and when.
    pub(crate) fn published(&self) -> &[(String, Instant)] {
        &self.published
    }

    /// The number of endpoints that are still awaited.
    pub(crate) fn awaited(&self) -> usize {
        self.awaited.len()
    }

    /// The time of the last change of a slice.
    pub(crate) fn last_event(&self) -> Instant {
        self.last_event
    }

    fn count(&mut self, service: Service, add: usize, remove: usize) {
        let endpoints = self.endpoints.entry(service).or_default();
        let was_complete = *endpoints == self.pods_per_service;
        *endpoints = *endpoints + add - remove;
        let is_complete = *endpoints == self.pods_per_service;
        self.complete = self.complete + usize::from(is_complete) - usize::from(was_complete);
    }

    fn look_for_awaited(&mut self, slice: &EndpointSlice) {
        let namespace = slice.namespace().unwrap_or_default();
        // Most endpoints are ready: then their names are not looked up.
        let only_withdrawals = self.awaited.values().all(|(awaited, _)| *awaited == Awaited::Withdrawal);
        for endpoint in slice.endpoints.iter().flatten() {
            let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false);
            let name = endpoint.target_ref.as_ref().and_then(|target| target.name.clone());
            let (false, Some(name)) = (ready && only_withdrawals, name) else { continue };
            let pod = SeededPod { namespace: namespace.clone(), name };
            let Some(&(awaited, since)) = self.awaited.get(&pod) else { continue };
            if ready == (awaited == Awaited::Withdrawal) {
                continue;
            }
            self.awaited.remove(&pod);
            self.delays.entry(awaited).or_default().push(since.elapsed());
            if awaited != Awaited::Withdrawal {
                self.published.push((namespace.clone(), Instant::now()));
            }
        }
    }
}

impl View for Tally {
    fn present(&mut self, slice: EndpointSlice) {
        self.last_event = Instant::now();
        if !self.awaited.is_empty() {
            self.look_for_awaited(&slice);
        }
        let namespace = slice.namespace().unwrap_or_default();
        let service = slice.labels().get("kubernetes.io/service-name").cloned().unwrap_or_default();
        let service = (namespace.clone(), service);
        let size = slice.endpoints.iter().flatten().count();
        let before = self.slices.insert((namespace, slice.name_any()), (service.clone(), size));
        self.count(service, size, before.map_or(0, |(_, size)| size));
    }

    fn absent(&mut self, slice: &EndpointSlice) {
        self.last_event = Instant::now();
        let key = (slice.namespace().unwrap_or_default(), slice.name_any());
        if let Some((service, size)) = self.slices.remove(&key) {
            self.count(service, 0, size);
        }
    }
}
