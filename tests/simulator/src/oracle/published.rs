//! The addresses that the objects written by replicas publish, and the rules for each write.

use std::collections::{BTreeMap, BTreeSet};

use expected_objects::CONTROLLERS;
use k8s_openapi::api::core::v1::{EndpointAddress, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use random_operations::{MANAGED_BY, SERVICE_NAME};
use tokio::time::{Duration, Instant};

/// The annotation that differs in every write.
const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// The time within which a create is answered, unless a fault delays the answer or its reader.
const PROMPT: Duration = Duration::from_secs(1);

/// The slices and Endpoints as replicas wrote them last. Those that other clients changed since are left out.
#[derive(Debug, Default)]
pub struct Published {
    slices: BTreeMap<String, Slice>,
    endpoints: BTreeMap<String, (Endpoints, u64)>,
    /// Ready addresses of Services in slices that another client has changed or deleted, until a replica writes them again.
    taken: BTreeMap<(String, Place), Instant>,
}

#[derive(Debug)]
struct Slice {
    object: EndpointSlice,
    updates: u64,
    written: Instant,
    /// Several replicas may have written then: another leader may never see it, if its watch fails.
    shared: bool,
    /// The process that wrote it knows its content, and so does every later leader after its relist.
    known: bool,
}

/// A ready address that a write took away.
#[derive(Debug)]
pub struct Lost {
    pub service: String,
    pub place: Place,
    pub in_slices: bool,
}

/// The place in which a ready address was published.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub pod: String,
    pub address: String,
    /// The ports of its slice; none for Endpoints.
    pub ports: BTreeSet<String>,
}

/// The effect of one write.
#[derive(Debug, Default)]
pub struct Effect {
    pub violations: Vec<String>,
    /// Slices that have an endpoint of a new one already, if they still exist, and that endpoint.
    pub doubled: Vec<(String, String)>,
    pub lost: Vec<Lost>,
}

impl Published {
    /// Another client has changed or deleted an object of this name.
    pub fn forget(&mut self, name: &str) {
        let taken = self.slices.remove(name).map(|slice| service_places(&slice.object)).unwrap_or_default();
        self.taken.extend(taken.into_iter().map(|place| (place, Instant::now())));
        self.endpoints.remove(name);
    }

    /// True if another client has taken the ready address within this time: a replica that did not know it may have taken its
    /// copy in another slice, where two leaders had put it.
    pub fn was_taken(&self, lost: &Lost, within: Duration) -> bool {
        let taken = self.taken.get(&(lost.service.clone(), lost.place.clone()));
        lost.in_slices && taken.is_some_and(|taken| taken.elapsed() <= within)
    }

    /// The answer to the last write of this slice has arrived.
    pub fn acknowledged(&mut self, name: &str) {
        if let Some(slice) = self.slices.get_mut(name) {
            slice.known = !slice.shared && slice.written.elapsed() <= PROMPT;
        }
    }

    /// A slice was created or updated. `changes` is the number of changes in the cluster until now; `is_new` is true for
    /// a create. Several replicas may write at present if `is_shared`.
    pub fn slice(&mut self, mut slice: EndpointSlice, changes: u64, is_new: bool, is_shared: bool) -> Effect {
        let mut effect = Effect::default();
        normalize(&mut slice.metadata);
        let name = slice.metadata.name.clone().unwrap_or_default();
        for place in service_places(&slice) {
            self.taken.remove(&place);
        }
        let before = self.ready(&slice);
        if let Some(known) = self.slices.get_mut(&name) {
            known.updates += 1;
            if known.object == slice && !is_shared {
                effect.violations.push(format!("the write of slice {name} changes nothing"));
            }
            if known.updates > changes {
                effect.violations.push(format!("slice {name} is written more often than anything changed"));
            }
            known.object = slice.clone();
            known.written = Instant::now();
            known.shared = is_shared;
            known.known = false;
        } else {
            if is_new && !is_shared {
                effect.doubled = self.doubled(&slice);
            }
            let written = Instant::now();
            let new = Slice { object: slice.clone(), updates: 0, written, shared: is_shared, known: false };
            self.slices.insert(name, new);
        }
        effect.lost = lost(&slice, before, &self.ready(&slice));
        effect
    }

    /// A replica deleted a slice.
    pub fn slice_deleted(&mut self, name: &str) -> Effect {
        let Some(slice) = self.slices.get(name).map(|slice| slice.object.clone()) else {
            return Effect::default();
        };
        let before = self.ready(&slice);
        self.slices.remove(name);
        let lost = lost(&slice, before, &self.ready(&slice));
        Effect { lost, ..Effect::default() }
    }

    /// Endpoints were created or updated.
    pub fn endpoints(&mut self, mut endpoints: Endpoints, changes: u64, is_shared: bool) -> Effect {
        let mut effect = Effect::default();
        normalize(&mut endpoints.metadata);
        let name = endpoints.metadata.name.clone().unwrap_or_default();
        let mut updates = 0;
        let same = |known: &&(Endpoints, u64)| known.0.metadata.uid == endpoints.metadata.uid;
        if let Some((known, number)) = self.endpoints.get(&name).filter(same) {
            updates = number + 1;
            if *known == endpoints && !is_shared {
                effect.violations.push(format!("the write of Endpoints {name} changes nothing"));
            }
            if updates > changes {
                effect
                    .violations
                    .push(format!("Endpoints {name} are written more often than anything changed"));
            }
            let after = ready_addresses(&endpoints);
            let gone = ready_addresses(known).into_iter().filter(|address| !after.contains(address));
            effect.lost = gone.map(|place| Lost::of(&name, place, false)).collect();
        }
        self.endpoints.insert(name, (endpoints, updates));
        effect
    }

    /// A replica deleted Endpoints.
    pub fn endpoints_deleted(&mut self, name: &str) -> Effect {
        let known = self.endpoints.remove(name);
        let gone = known.map(|(known, _)| ready_addresses(&known)).unwrap_or_default();
        let lost = gone.into_iter().map(|place| Lost::of(name, place, false)).collect();
        Effect { lost, ..Effect::default() }
    }

    /// The ready addresses of the slices that have the Service and the controller of this one.
    fn ready(&self, of: &EndpointSlice) -> BTreeSet<Place> {
        let slices = self.slices.values().filter(|slice| is_alike(&slice.object, of));
        slices.flat_map(|slice| ready_places(&slice.object)).collect()
    }

    /// The endpoints of a new slice that another one of the same owner has already, if its creator had to know that.
    fn doubled(&self, new: &EndpointSlice) -> Vec<(String, String)> {
        let places = places(new);
        let owner = |slice: &EndpointSlice| {
            slice.metadata.owner_references.iter().flatten().map(|owner| owner.uid.clone()).next()
        };
        let others = self.slices.iter().filter(|(_, slice)| {
            slice.known && is_alike(&slice.object, new) && owner(&slice.object) == owner(new)
        });
        let doubled = others.filter_map(|(name, slice)| {
            let place = self::places(&slice.object).intersection(&places).next().cloned()?;
            Some((name.clone(), place))
        });
        doubled.collect()
    }
}

impl Lost {
    fn of(service: &str, place: Place, in_slices: bool) -> Self {
        Self { service: service.to_owned(), place, in_slices }
    }
}

/// True if one of these slices of our controller for the Service has the ready address.
pub fn has_place<'a>(slices: impl IntoIterator<Item = &'a EndpointSlice>, lost: &Lost) -> bool {
    let is_of = |slice: &&EndpointSlice| {
        label(slice, SERVICE_NAME) == Some(&*lost.service) && label(slice, MANAGED_BY) == Some(CONTROLLERS[0])
    };
    slices.into_iter().filter(is_of).any(|slice| ready_places(slice).contains(&lost.place))
}

/// The ready addresses of a slice, and their pods.
fn ready_places(slice: &EndpointSlice) -> BTreeSet<Place> {
    let ports: BTreeSet<String> = slice.ports.iter().flatten().map(port_line).collect();
    let is_ready = |endpoint: &&Endpoint| {
        endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
    };
    let places = slice.endpoints.iter().flatten().filter(is_ready).flat_map(|endpoint| {
        let pod = endpoint.target_ref.as_ref().and_then(|target| target.name.clone()).unwrap_or_default();
        let place =
            |address: &String| Place { pod: pod.clone(), address: address.clone(), ports: ports.clone() };
        endpoint.addresses.iter().map(place).collect::<Vec<_>>()
    });
    places.collect()
}

/// The ready addresses of a slice, each with the Service.
fn service_places(slice: &EndpointSlice) -> Vec<(String, Place)> {
    let service = label(slice, SERVICE_NAME).unwrap_or_default();
    ready_places(slice).into_iter().map(|place| (service.to_owned(), place)).collect()
}

/// The ready addresses that went. Those of mirrored Endpoints go when the Service gets a selector.
fn lost(of: &EndpointSlice, before: BTreeSet<Place>, after: &BTreeSet<Place>) -> Vec<Lost> {
    if label(of, MANAGED_BY) != Some(CONTROLLERS[0]) {
        return Vec::new();
    }
    let service = label(of, SERVICE_NAME).unwrap_or_default();
    let gone = before.into_iter().filter(|place| !after.contains(place));
    gone.map(|place| Lost::of(service, place, true)).collect()
}

fn label<'a>(slice: &'a EndpointSlice, key: &str) -> Option<&'a str> {
    slice.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

fn is_alike(one: &EndpointSlice, other: &EndpointSlice) -> bool {
    [SERVICE_NAME, MANAGED_BY].iter().all(|key| label(one, key) == label(other, key))
}

/// The endpoints of a slice, as text.
fn places(slice: &EndpointSlice) -> BTreeSet<String> {
    let endpoints = slice.endpoints.iter().flatten();
    let target = |uid: Option<&str>| uid.unwrap_or_default().to_owned();
    let places = endpoints.map(|endpoint| {
        let uid = endpoint.target_ref.as_ref().and_then(|target| target.uid.as_deref());
        format!("{} {:?} {:?} {}", slice.address_type, slice.ports, endpoint.addresses, target(uid))
    });
    places.collect()
}

fn ready_addresses(endpoints: &Endpoints) -> BTreeSet<Place> {
    let addresses = endpoints.subsets.iter().flatten().flat_map(|subset| subset.addresses.iter().flatten());
    let place = |address: &EndpointAddress| Place {
        pod: address.target_ref.as_ref().and_then(|target| target.name.clone()).unwrap_or_default(),
        address: address.ip.clone(),
        ports: BTreeSet::new(),
    };
    addresses.map(place).collect()
}

/// A port as the model writes it.
fn port_line(port: &EndpointPort) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    let number = port.port.unwrap_or_default();
    format!("{}:{protocol}:{number}:{}", text(&port.name), text(&port.app_protocol))
}

/// Removes what every write changes.
fn normalize(metadata: &mut ObjectMeta) {
    metadata.resource_version = None;
    metadata.generation = None;
    metadata.managed_fields = None;
    metadata.annotations.iter_mut().for_each(|annotations| drop(annotations.remove(TRIGGER_TIME)));
    if metadata.annotations.as_ref().is_some_and(BTreeMap::is_empty) {
        metadata.annotations = None;
    }
}
