//! Endpoints without duplicates, by their identity.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::discovery::v1::Endpoint;

use super::conditions::Conditions;

/// A set of endpoints of one address type and port set.
///
/// The identity of an endpoint is its addresses, hostname and target (namespace and name). Readiness, zone, node and the
/// target's uid are properties: one address on two pods is two endpoints, and a pod that becomes ready stays in its slice.
/// A target without namespace and name counts as none (`util/endpointset.go`).
#[derive(Clone, Debug, Default)]
pub struct EndpointSet {
    endpoints: Vec<Option<Endpoint>>,
    index: HashTable<usize>,
    /// Seeded at random, because users choose addresses and names. No order depends on it: endpoints stay in order of
    /// insertion.
    hasher: RandomState,
    len: usize,
}

impl EndpointSet {
    /// The number of endpoints.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an endpoint; one with the same identity is replaced. Its addresses are sorted, as upstream publishes them.
    pub fn insert(&mut self, mut endpoint: Endpoint) {
        endpoint.addresses.sort_unstable();
        let hash = identity_hash(&self.hasher, &endpoint);
        if let Some(position) = self.position(hash, &endpoint) {
            if let Some(slot) = self.endpoints.get_mut(position) {
                *slot = Some(endpoint);
            }
            return;
        }
        let position = self.endpoints.len();
        self.endpoints.push(Some(endpoint));
        let (endpoints, hasher) = (&self.endpoints, &self.hasher);
        self.index.insert_unique(hash, position, |position| hash_at(hasher, endpoints, *position));
        self.len += 1;
    }

    /// Removes and returns the endpoint with the identity of `endpoint`.
    pub fn take(&mut self, endpoint: &Endpoint) -> Option<Endpoint> {
        let hash = identity_hash(&self.hasher, endpoint);
        let endpoints = &self.endpoints;
        let found =
            self.index.find_entry(hash, |position| is_same_at(endpoints, *position, endpoint)).ok()?;
        let (position, _) = found.remove();
        self.len -= 1;
        self.endpoints.get_mut(position)?.take()
    }

    /// True if the set has an endpoint with the identity of `endpoint`.
    pub fn contains(&self, endpoint: &Endpoint) -> bool {
        self.position(identity_hash(&self.hasher, endpoint), endpoint).is_some()
    }

    /// The endpoints in order of their identity, which doesn't depend on the order of insertion.
    pub fn into_sorted(self) -> Vec<Endpoint> {
        let mut endpoints: Vec<Endpoint> = self.endpoints.into_iter().flatten().collect();
        endpoints.sort_by(|a, b| identity(a).cmp(&identity(b)));
        endpoints
    }

    /// The endpoints, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter().flatten()
    }

    fn position(&self, hash: u64, endpoint: &Endpoint) -> Option<usize> {
        self.index.find(hash, |position| is_same_at(&self.endpoints, *position, endpoint)).copied()
    }
}

impl FromIterator<Endpoint> for EndpointSet {
    fn from_iter<I: IntoIterator<Item = Endpoint>>(endpoints: I) -> Self {
        let mut set = Self::default();
        endpoints.into_iter().for_each(|endpoint| set.insert(endpoint));
        set
    }
}

fn hash_at(hasher: &RandomState, endpoints: &[Option<Endpoint>], position: usize) -> u64 {
    let endpoint = endpoints.get(position).and_then(Option::as_ref);
    endpoint.map_or(0, |endpoint| identity_hash(hasher, endpoint))
}

fn is_same_at(endpoints: &[Option<Endpoint>], position: usize, endpoint: &Endpoint) -> bool {
    let found = endpoints.get(position).and_then(Option::as_ref);
    found.is_some_and(|found| identity(found) == identity(endpoint))
}

/// The properties by which an endpoint of a slice is found again.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity<'a> {
    addresses: Addresses<'a>,
    hostname: &'a str,
    /// Namespace and name; both empty if there is no target.
    target: (&'a str, &'a str),
}

/// Addresses as a sorted list; the usual single address needs no allocation.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Addresses<'a> {
    One(&'a str),
    Sorted(Vec<&'a str>),
}

pub(crate) fn identity(endpoint: &Endpoint) -> Identity<'_> {
    let addresses = match endpoint.addresses.as_slice() {
        [one] => Addresses::One(one),
        several => {
            let mut sorted: Vec<&str> = several.iter().map(String::as_str).collect();
            sorted.sort_unstable();
            Addresses::Sorted(sorted)
        }
    };
    let of_target = |field: fn(&ObjectReference) -> Option<&str>| {
        endpoint.target_ref.as_ref().and_then(field).unwrap_or_default()
    };
    Identity {
        addresses,
        hostname: endpoint.hostname.as_deref().unwrap_or_default(),
        target: (of_target(|target| target.namespace.as_deref()), of_target(|target| target.name.as_deref())),
    }
}

fn identity_hash(hasher: &RandomState, endpoint: &Endpoint) -> u64 {
    hasher.hash_one(identity(endpoint))
}

/// True if two endpoints with the same identity also agree in their published properties.
///
/// Compares node, zone, the published conditions, and the target with its uid but without its resourceVersion; ignores
/// hints and the deprecated topology (`util/controller_utils.go`
/// `EndpointsEqualBeyondHash`).
pub(crate) fn equal_beyond_identity(a: &Endpoint, b: &Endpoint, conditions: Conditions) -> bool {
    a.node_name == b.node_name
        && a.zone == b.zone
        && conditions.agree(a, b)
        && match (&a.target_ref, &b.target_ref) {
            (None, None) => true,
            (Some(a), Some(b)) => same_target(a, b),
            _ => false,
        }
}

/// True if two endpoints or addresses have the same target, whatever its resourceVersion, which old releases wrote. Absent and
/// empty texts are the same.
pub fn same_target(a: &ObjectReference, b: &ObjectReference) -> bool {
    fn fields(target: &ObjectReference) -> [&str; 6] {
        let ObjectReference { api_version, field_path, kind, name, namespace, uid, resource_version: _ } =
            target;
        [api_version, field_path, kind, name, namespace, uid]
            .map(|field| field.as_deref().unwrap_or_default())
    }
    fields(a) == fields(b)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::discovery::v1::EndpointConditions;

    use super::*;

    fn endpoint(address: &str, pod: &str) -> Endpoint {
        let target = ObjectReference {
            namespace: Some("ns".into()),
            name: Some(pod.into()),
            ..ObjectReference::default()
        };
        Endpoint { addresses: vec![address.into()], target_ref: Some(target), ..Endpoint::default() }
    }

    /// Upstream's `hashEndpoint` has no test of its own.
    #[test]
    fn identity_is_addresses_in_any_order_hostname_and_target() {
        let base = Endpoint { addresses: vec!["10.0.0.1".into(), "10.0.0.2".into()], ..endpoint("", "a") };
        let same = |change: fn(&mut Endpoint)| {
            let mut changed = base.clone();
            change(&mut changed);
            EndpointSet::from_iter([base.clone(), changed]).len() == 1
        };
        assert!(same(|e| e.addresses.reverse()));
        assert!(same(|e| e.hostname = Some(String::new())));
        assert!(same(|e| e.zone = Some("zone".into())));
        assert!(same(|e| e.node_name = Some("node".into())));
        assert!(same(|e| e.conditions = Some(EndpointConditions::default())));
        assert!(same(|e| e.target_ref.as_mut().unwrap().uid = Some("new".into())));
        assert!(!same(|e| e.addresses.truncate(1)));
        assert!(!same(|e| e.hostname = Some("db-0".into())));
        assert!(!same(|e| e.target_ref.as_mut().unwrap().name = Some("b".into())));
        assert!(!same(|e| e.target_ref.as_mut().unwrap().namespace = Some("other".into())));
        assert!(!same(|e| e.target_ref = None));
    }

    #[test]
    fn a_target_without_namespace_and_name_identifies_nothing() {
        let with_target = |target_ref| Endpoint { target_ref, ..endpoint("10.0.0.1", "") };
        let unnamed = ObjectReference { uid: Some("uid".into()), ..ObjectReference::default() };
        let set: EndpointSet = [None, Some(unnamed.clone())].map(with_target).into_iter().collect();
        assert_eq!(set.into_sorted(), [with_target(Some(unnamed))]);
    }

    #[test]
    fn the_last_of_equal_endpoints_wins() {
        let ready = Endpoint { zone: Some("late".into()), ..endpoint("10.0.0.1", "a") };
        let mut set: EndpointSet = [endpoint("10.0.0.1", "a"), ready.clone()].into_iter().collect();
        assert_eq!(set.take(&endpoint("10.0.0.1", "a")), Some(ready));
        assert!(set.is_empty() && set.take(&endpoint("10.0.0.1", "a")).is_none());
    }

    /// Counterpart of upstream's `TestEndpointsEqualBeyondHash`.
    #[test]
    fn properties_are_compared_without_resource_version_and_hints() {
        let base = endpoint("10.0.0.1", "a");
        let with = |change: fn(&mut Endpoint)| {
            let mut changed = base.clone();
            change(&mut changed);
            equal_beyond_identity(&base, &changed, Conditions::All)
        };
        let condition = |e: &mut Endpoint| e.conditions.get_or_insert_default().ready = Some(false);
        assert!(with(|_| ()));
        assert!(with(|e| e.conditions = Some(EndpointConditions::default())));
        assert!(with(|e| e.target_ref.as_mut().unwrap().resource_version = Some("7".into())));
        assert!(with(|e| e.hints = Some(k8s_openapi::api::discovery::v1::EndpointHints::default())));
        assert!(!with(condition));
        assert!(!with(|e| e.node_name = Some("node".into())));
        assert!(!with(|e| e.zone = Some("zone".into())));
        assert!(!with(|e| e.target_ref.as_mut().unwrap().uid = Some("new".into())));
        assert!(!with(|e| e.target_ref = None));
        assert!(!with(|e| e.conditions.get_or_insert_default().serving = Some(true)));
        assert!(!with(|e| e.conditions.get_or_insert_default().terminating = Some(true)));
    }
}
