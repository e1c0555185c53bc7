//! The endpoints of a Service in numbers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde::Serialize;

use crate::explain::entries;
use crate::report::Presence;
use crate::snapshot::{ServiceEntry, Snapshot};

/// The endpoints of a Service in numbers. A pod in slices of two families counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointCounts {
    /// `ExternalName`, `Headless`, or `spec.type`.
    pub kind: String,
    /// Endpoints that are ready.
    pub ready: usize,
    /// Endpoints that are terminating and still serve.
    pub serving: usize,
    /// Other endpoints.
    pub not_ready: usize,
    /// The zones of the endpoints, by name; empty for those without a zone. Of more than 20, those with the most endpoints,
    /// then the sum of the others.
    pub zones: Vec<ZoneCounts>,
    /// The number of slices, of every manager.
    pub slices: usize,
    /// The endpoints of all slices, each as often as it is there.
    pub entries: usize,
    /// The endpoints that the slices have room for.
    pub capacity: usize,
    /// The field managers of the newest writes of the slices, by name; eight at most.
    pub writers: Vec<String>,
}

/// Zones that are named: endpoints of custom slices may be in as many as their author likes.
const ZONES: usize = 20;
/// The name of the others.
const OTHERS: &str = "(others)";
/// Field managers that are named.
const WRITERS: usize = 8;

/// The endpoints of a Service in one zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ZoneCounts {
    /// The zone.
    pub zone: String,
    /// Endpoints that are ready.
    pub ready: usize,
    /// All endpoints.
    pub total: usize,
}

impl EndpointCounts {
    /// The numbers of a Service; none if the snapshot doesn't have it.
    ///
    /// Cost: linear in the Service's endpoints.
    pub fn of(snapshot: &Snapshot, namespace: &str, name: &str) -> Option<Self> {
        let objects = snapshot.namespace(namespace)?;
        let entry = objects.service(name)?;
        let slices: Vec<&EndpointSlice> = objects.slices_of(name).map(|slice| &**slice).collect();
        let states = states(&slices, entry);
        let count = |wanted| states.values().filter(|(state, _)| *state == wanted).count();
        let (ready, serving) = (count(Presence::Ready), count(Presence::Serving));
        let writers: BTreeSet<&str> = slices
            .iter()
            .filter_map(|slice| super::newest_write(&slice.metadata)?.manager.as_deref())
            .collect();
        Some(Self {
            kind: super::kind(&entry.object).to_owned(),
            ready,
            serving,
            not_ready: states.len() - ready - serving,
            zones: zones(&states),
            slices: slices.len(),
            entries: slices.iter().map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len)).sum(),
            capacity: slices.len() * super::capacity(objects, name),
            writers: writers.into_iter().take(WRITERS).map(Into::into).collect(),
        })
    }
}

/// An endpoint: the pod, or the first address.
type Identity<'a> = Result<&'a str, &'a str>;

/// The best state and the zone of each endpoint. One that connections to a cluster IP do not reach is not ready.
fn states<'a>(
    slices: &[&'a EndpointSlice],
    service: &ServiceEntry,
) -> BTreeMap<Identity<'a>, (Presence, &'a str)> {
    let mut states = BTreeMap::<Identity<'_>, (Presence, &str)>::new();
    let endpoints = slices.iter().flat_map(|slice| {
        let is_reached = service.bypasses(slice).is_none();
        slice.endpoints.iter().flatten().map(move |endpoint| (is_reached, endpoint))
    });
    for (is_reached, endpoint) in endpoints {
        let pod = endpoint.target_ref.as_ref().and_then(entries::pod_name);
        let identity = pod.ok_or_else(|| endpoint.addresses.first().map_or("", String::as_str));
        let state =
            if is_reached { entries::state(endpoint.conditions.as_ref()) } else { Presence::NotReady };
        let found = (state, endpoint.zone.as_deref().unwrap_or_default());
        states.entry(identity).and_modify(|best| *best = found.min(*best)).or_insert(found);
    }
    states
}

fn zones(states: &BTreeMap<Identity<'_>, (Presence, &str)>) -> Vec<ZoneCounts> {
    let mut zones = BTreeMap::<&str, (usize, usize)>::new();
    for (state, zone) in states.values() {
        let (ready, total) = zones.entry(zone).or_default();
        *ready += usize::from(*state == Presence::Ready);
        *total += 1;
    }
    let counts = |(zone, (ready, total)): (&str, _)| ZoneCounts { zone: zone.to_owned(), ready, total };
    let mut zones: Vec<ZoneCounts> = zones.into_iter().map(counts).collect();
    if zones.len() > ZONES {
        zones.sort_by_key(|zone| Reverse(zone.total));
        let others = zones.split_off(ZONES);
        zones.sort_by(|a, b| a.zone.cmp(&b.zone));
        zones.push(ZoneCounts {
            zone: OTHERS.to_owned(),
            ready: others.iter().map(|zone| zone.ready).sum(),
            total: others.iter().map(|zone| zone.total).sum(),
        });
    }
    zones
}
