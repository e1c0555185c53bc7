//! Addresses that drivers of dynamic resource allocation report in the status of ResourceClaims.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use controller_kit::key::ObjectKey;
use endpoint_informers::cache::{CachedResource as _, State, UnreadableObject};
use endpoint_informers::custom::CustomChange;
use endpoint_informers::list_watch::Informers;
use endpoint_informers::resource::{Change, Resource as _};
use endpointslice::desired::Attachment;
use endpointslice::{Pod, Service};

use crate::resource_claim::{Device, PodNetwork, ResourceClaim};
use crate::source::{Missing, Source};

/// Label of a Service: the kind of its network (multi-network API of SIG Network, sketch of 2026).
pub(crate) const POD_NETWORK_KIND: &str = "multinetwork.networking.k8s.io/spec.podnetwork.kind";
/// Label of a Service: the name of its network.
pub(crate) const POD_NETWORK_NAME: &str = "multinetwork.networking.k8s.io/spec.podnetwork.name";
/// Label of a Service: the namespace of its network. Without it, networks without a namespace and those in the
/// Service's count.
pub(crate) const POD_NETWORK_NAMESPACE: &str = "multinetwork.networking.k8s.io/spec.podnetwork.namespace";
/// Annotation of a Service: the driver of the devices that attach its pods.
pub(crate) const DRIVER: &str = "pod-network-controller/dra-driver";
/// Annotation of a Service: the name of the request, in the claim's spec, for these devices.
pub(crate) const REQUEST: &str = "pod-network-controller/dra-request";

/// `status.devices` of the ResourceClaims that are reserved for a pod (KEP-4817).
///
/// A Service names its devices by the network that their driver reports in `data.podNetwork` (labels of the multi-network
/// API), by driver, by request, or by several of these: a device must agree with each. Of a pod whose claims have several such
/// devices, the first address of each family is. A device with a condition `Ready` must have it true, or the pod counts as not
/// ready.
///
/// A claim counts for a pod if `status.reservedFor` has the pod's uid: that is so for claims from templates, for shared claims and
/// for those of extended resources, and no longer for a claim that has passed to another pod.
pub struct Claims;

/// [`Claims`] of an API server that has none: the slices of the Services that ask for devices stay as they are, because another
/// replica may see another API server during an upgrade.
pub(crate) struct UnservedClaims;

impl Source for UnservedClaims {
    fn check_readable(&self, service: &Service, _: &State) -> Result<(), UnreadableObject> {
        Err(UnreadableObject { kind: ResourceClaim::KIND, name: format!("{}/", service.namespace) })
    }

    fn serves(&self, service: &Service) -> bool {
        Claims.serves(service)
    }

    fn attachment(&self, _: &Service, _: &Pod, _: &State) -> Result<Attachment<Vec<IpAddr>>, Missing> {
        Err(Missing::NoClaim)
    }
}

/// The devices that a Service asks for.
struct Wanted<'a> {
    kind: Option<&'a str>,
    name: Option<&'a str>,
    network_namespace: Option<&'a str>,
    namespace: &'a str,
    driver: Option<&'a str>,
    request: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    fn by(service: &'a Service) -> Self {
        // Templates write an empty value for none.
        let named = |value: Option<&'a str>| value.filter(|name| !name.is_empty());
        Self {
            kind: named(service.labels.get(POD_NETWORK_KIND)),
            name: named(service.labels.get(POD_NETWORK_NAME)),
            network_namespace: named(service.labels.get(POD_NETWORK_NAMESPACE)),
            namespace: &service.namespace,
            driver: named(service.annotations.get(DRIVER)),
            request: named(service.annotations.get(REQUEST)),
        }
    }

    fn includes(&self, device: &Device) -> bool {
        self.requests(device)
            && (!self.names_network()
                || device.network.as_ref().is_ok_and(|it| it.as_ref().is_some_and(|it| self.names(it))))
    }

    /// True for a device of the driver and the request, whatever its network.
    fn requests(&self, device: &Device) -> bool {
        // A request with alternatives is allocated as `request/alternative`.
        let is_requested = |request: &str| {
            let (main, _) = device.request.split_once('/').unwrap_or((&device.request, ""));
            request == main || request == &*device.request
        };
        self.driver.is_none_or(|driver| driver == &*device.driver) && self.request.is_none_or(is_requested)
    }

    fn names_network(&self) -> bool {
        self.name.is_some() || self.kind.is_some() || self.network_namespace.is_some()
    }

    /// The error that hides the network of a device, if the Service asks for one by its network.
    fn unknown<'d>(&self, device: &'d Device) -> Option<&'d str> {
        let reason = device.network.as_ref().err()?;
        (self.names_network() && self.requests(device)).then_some(&**reason)
    }

    /// Fails if the devices are in several networks: they may reach each other as little as they reach the cluster's.
    fn check_one_network<'d>(&self, devices: impl Iterator<Item = &'d Device>) -> Result<(), Missing> {
        let fitting = devices.filter(|device| self.includes(device));
        let mut networks = fitting.filter_map(|device| device.network.as_ref().ok()?.as_ref());
        let Some(first) = networks.next() else { return Ok(()) };
        match networks.find(|other| *other != first) {
            Some(other) => Err(Missing::Ambiguous(first.to_string(), other.to_string())),
            None => Ok(()),
        }
    }

    fn names(&self, network: &PodNetwork) -> bool {
        let is_near = network.namespace.is_empty() || &*network.namespace == self.namespace;
        self.name.is_none_or(|name| name == &*network.name)
            && self.kind.is_none_or(|kind| kind == &*network.kind)
            && self.network_namespace.map_or(is_near, |namespace| namespace == &*network.namespace)
    }
}

impl Source for Claims {
    fn start_informers(&self, informers: &mut Informers) {
        informers.start(informers.of::<ResourceClaim>());
    }

    /// The Services of the pods that the claim is, or was, reserved for.
    fn affected_by(&self, change: CustomChange<'_>, state: &State) -> Vec<ObjectKey> {
        let Some(change) = change.of::<ResourceClaim>() else { return Vec::new() };
        let (old, new) = match change {
            Change::Added(claim) | Change::Deleted { last: claim, .. } => (None, claim),
            Change::Updated { old, new } => (Some(old), new),
        };
        let consumers = |claim: &ResourceClaim| claim.pods.iter().cloned().collect::<HashSet<_>>();
        let (before, now) = (old.map(|old| consumers(old)).unwrap_or_default(), consumers(new));
        // A shared claim that gets another pod says nothing new of the others.
        let is_same = old.is_some_and(|old| old.devices == new.devices);
        let pods = before.union(&now).filter(|pod| !is_same || before.contains(*pod) != now.contains(*pod));
        let pods = pods.filter_map(|pod| state.pods.get(&new.namespace, &pod.name));
        let services = pods.flat_map(|pod| state.services_selecting(&pod.namespace, &pod.labels));
        let keys: BTreeSet<ObjectKey> = services.map(|service| service.key()).collect();
        keys.into_iter().collect()
    }

    fn check_readable(&self, service: &Service, state: &State) -> Result<(), UnreadableObject> {
        ResourceClaim::table(state).check_readable(&service.namespace)
    }

    fn serves(&self, service: &Service) -> bool {
        let wanted = Wanted::by(service);
        wanted.name.is_some() || wanted.driver.is_some() || wanted.request.is_some()
    }

    fn attachment(
        &self,
        service: &Service,
        pod: &Pod,
        state: &State,
    ) -> Result<Attachment<Vec<IpAddr>>, Missing> {
        let wanted = Wanted::by(service);
        let claims: Vec<&ResourceClaim> = ResourceClaim::table(state).index().reserved_for(pod).collect();
        if claims.is_empty() {
            return Err(Missing::NoClaim);
        }
        let all = || claims.iter().flat_map(|claim| &claim.devices);
        let (mut addresses, mut ready, mut empty) = (Vec::new(), true, None);
        wanted.check_one_network(all())?;
        for device in all().filter(|device| wanted.includes(device)) {
            let found = device.addresses.as_ref().map_err(|reason| Missing::Malformed(reason.to_string()))?;
            if found.is_empty() {
                empty = Some(device);
            }
            ready &= device.ready;
            addresses.extend_from_slice(found);
        }
        match empty {
            _ if !addresses.is_empty() => Ok(Attachment { addresses, ready }),
            Some(device) => Err(Missing::NoAddress(format!("{}/{}", device.driver, device.name))),
            None => match all().find_map(|device| wanted.unknown(device)) {
                Some(reason) => Err(Missing::Malformed(reason.to_owned())),
                None => Err(Missing::NotAttached),
            },
        }
    }

    fn network(&self, service: &Service, pod: &Pod, state: &State) -> Option<String> {
        let wanted = Wanted::by(service);
        let mut devices = devices_of(pod, state).filter(|device| wanted.includes(device));
        devices.find_map(|device| Some(device.network.as_ref().ok()?.as_ref()?.to_string()))
    }

    fn unready(&self, service: &Service, pod: &Pod, state: &State) -> Option<String> {
        let wanted = Wanted::by(service);
        let device = devices_of(pod, state).find(|device| !device.ready && wanted.includes(device))?;
        Some(format!("{}/{}", device.driver, device.name))
    }
}

fn devices_of<'a>(pod: &Pod, state: &'a State) -> impl Iterator<Item = &'a Device> {
    ResourceClaim::table(state).index().reserved_for(pod).flat_map(|claim| &claim.devices)
}

#[cfg(test)]
mod tests;
