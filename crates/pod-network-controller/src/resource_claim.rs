//! ResourceClaims, as far as they say which addresses a pod has.

mod object;

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use endpoint_informers::custom::CustomResource;
use endpoint_informers::resource::{Index, Resource};
use endpointslice::model::{Uid, parse_ip};
use endpointslice::{Interner, Pod};
use serde_json::value::RawValue;

use self::object::{AllocatedDevice, Data, DeviceStatus, Object, Status};

/// A ResourceClaim: the pods that it is reserved for, and the devices that its driver has reported about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceClaim {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Box<str>,
    /// The pods of `status.reservedFor`.
    pub pods: Box<[Consumer]>,
    /// `status.devices`, in order.
    pub devices: Box<[Device]>,
}

/// A pod that a claim is reserved for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Consumer {
    /// Its name; the namespace is that of the claim.
    pub name: Arc<str>,
    /// Its uid.
    pub uid: Uid,
}

/// An allocated device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The driver.
    pub driver: Arc<str>,
    /// The name in its pool.
    pub name: Box<str>,
    /// The request of the claim that it was allocated for.
    pub request: Arc<str>,
    /// `data.podNetwork`, if the driver reports it, or what is wrong with it.
    pub network: Result<Option<PodNetwork>, Box<str>>,
    /// `networkData.ips` without their prefix lengths, or what is wrong with them.
    pub addresses: Result<Box<[IpAddr]>, Box<str>>,
    /// False if there is a condition `Ready` that is not true.
    pub ready: bool,
}

/// The network of a device (multi-network API of SIG Network).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodNetwork {
    /// The kind.
    pub kind: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// The namespace; empty for a network of the cluster.
    pub namespace: Arc<str>,
}

impl fmt::Display for PodNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, namespace } = self;
        let kind = if kind.is_empty() { "network" } else { kind };
        if namespace.is_empty() { write!(f, "{kind} {name}") } else { write!(f, "{kind} {namespace}/{name}") }
    }
}

impl Device {
    fn new(status: DeviceStatus, allocated: &[AllocatedDevice], interner: &mut Interner) -> Self {
        let request = status.allocation(allocated);
        let DeviceStatus { driver, device, conditions, data, network_data, .. } = status;
        let data = data.as_deref().map(RawValue::get).filter(|data| data.starts_with('{'));
        let data = data.map_or_else(|| Ok(Data::default()), serde_json::from_str);
        let network = data.map_err(|error| format!("data.podNetwork: {error}").into()).map(|data: Data| {
            data.pod_network.map(|network| PodNetwork {
                kind: interner.string(&network.kind),
                name: interner.string(&network.name),
                namespace: interner.string(&network.namespace),
            })
        });
        let ready = conditions.iter().find(|condition| condition.kind == "Ready");
        Self {
            driver: interner.string(&driver),
            name: device.into(),
            request: interner.string(request.map_or("", |allocated| &allocated.request)),
            network,
            addresses: network_data.ips.iter().map(|text| address(text)).collect(),
            ready: ready.is_none_or(|condition| condition.status == "True"),
        }
    }
}

/// Reads an address in the form `192.0.2.1/24`, or without a prefix length.
fn address(text: &str) -> Result<IpAddr, Box<str>> {
    let (address, length) = text.split_once('/').map_or((text, "0"), |(address, length)| (address, length));
    let is_length = length.parse::<u8>().is_ok_and(|length| length <= 128);
    let address = parse_ip(address).filter(|_| is_length);
    address
        .ok_or_else(|| format!("networkData.ips: {text:?} is not an IP address with a prefix length").into())
}

impl Resource for ResourceClaim {
    const KIND: &'static str = "ResourceClaim";
    const RESOURCE: &'static str = "resourceclaims";
    const PATH: &'static str = "/apis/resource.k8s.io/v1/resourceclaims";

    type Index = ByConsumer;

    fn read_json(json: &str, interner: &mut Interner) -> Result<(Self, String), serde_json::Error> {
        let Object { metadata, status } = serde_json::from_str(json)?;
        let Status { reserved_for, devices, allocation } = status;
        let pods = reserved_for.into_iter().filter(|it| it.api_group.is_empty() && it.resource == "pods");
        let pods = pods.map(|it| Consumer { name: it.name.into(), uid: Uid::from(&*it.uid) }).collect();
        let allocated = allocation.devices.results;
        let is_own = |device: &DeviceStatus| {
            device.allocation(&allocated).is_none_or(|allocated| allocated.admin_access != Some(true))
        };
        let devices = devices.into_iter().filter(is_own);
        let devices = devices.map(|device| Device::new(device, &allocated, interner)).collect();
        let namespace = interner.string(&metadata.namespace);
        Ok((Self { namespace, name: metadata.name.into(), pods, devices }, metadata.resource_version))
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl CustomResource for ResourceClaim {}

/// Claims by the uids of the pods that they are reserved for.
#[derive(Default)]
pub struct ByConsumer(HashMap<Uid, Vec<Arc<ResourceClaim>>>);

impl ByConsumer {
    /// The claims that are reserved for this pod, in order of their names.
    pub(crate) fn reserved_for(&self, pod: &Pod) -> impl Iterator<Item = &ResourceClaim> {
        let claims = self.0.get(&pod.uid).into_iter().flatten();
        claims.map(|claim| &**claim).filter(|claim| claim.namespace == pod.namespace)
    }
}

impl Index<ResourceClaim> for ByConsumer {
    fn insert(&mut self, claim: &Arc<ResourceClaim>) {
        for pod in &claim.pods {
            let claims = self.0.entry(pod.uid.clone()).or_default();
            let position = claims.partition_point(|other| other.name < claim.name);
            claims.insert(position, Arc::clone(claim));
        }
    }

    fn remove(&mut self, claim: &Arc<ResourceClaim>) {
        for pod in &claim.pods {
            if let Some(claims) = self.0.get_mut(&pod.uid) {
                claims.retain(|other| !Arc::ptr_eq(other, claim));
                if claims.is_empty() {
                    self.0.remove(&pod.uid);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(status: &Value) -> ResourceClaim {
        let metadata = json!({"namespace": "shop", "name": "web-0-net", "resourceVersion": "7"});
        let object = json!({"metadata": metadata, "spec": {"devices": {}}, "status": status}).to_string();
        let (claim, version) = ResourceClaim::read_json(&object, &mut Interner::default()).unwrap();
        assert_eq!(version, "7");
        claim
    }

    #[test]
    fn a_device_is_ready_unless_its_condition_is_not_true() {
        for (conditions, ready) in [
            (json!([{"type": "Ready", "status": "Unknown"}]), false),
            (json!([{"type": "Linked", "status": "False"}, {"type": "Ready", "status": "True"}]), true),
        ] {
            let device = json!({"driver": "d", "pool": "p", "device": "x", "conditions": conditions});
            assert_eq!(read(&json!({"devices": [device]})).devices[0].ready, ready, "{conditions}");
        }
    }

    fn full() -> ResourceClaim {
        let id = |device: &str| json!({"driver": "net.example.com", "pool": "node-1", "device": device});
        let with = |mut object: Value, fields: Value| {
            object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            object
        };
        read(&json!({
            "allocation": {"devices": {"results": [
                with(id("eth1"), json!({"request": "net"})),
                with(id("eth2"), json!({"request": "net/fast", "shareID": "s-1"})),
            ]}},
            "reservedFor": [
                {"resource": "pods", "name": "web-0", "uid": "0f2a6f8e-0d3c-4a39-a9f1-0f6dd1f0a001"},
                {"apiGroup": "batch", "resource": "jobs", "name": "web", "uid": "u-5"},
                {"apiGroup": "example.com", "resource": "pods", "name": "web-0", "uid": "u-6"},
            ],
            "devices": [
                with(id("eth1"), json!({
                    "conditions": [{"type": "Linked", "status": "True"}, {"type": "Ready", "status": "False"}],
                    "data": {"podNetwork": {"kind": "PodNetwork", "name": "storage", "namespace": "shop"}, "vlan": 7},
                    "networkData": {"interfaceName": "net1", "ips": ["192.168.7.1/24", "fd00:7::1/64"]},
                })),
                with(id("eth2"), json!({"shareID": "s-1", "data": ["another shape"], "networkData": {"ips": ["?"]}})),
                {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu0", "conditions": null, "data": null,
                    "networkData": null},
            ],
        }))
    }

    #[test]
    fn devices_are_read_with_their_requests_and_networks() {
        let claim = full();
        assert_eq!((&*claim.namespace, &*claim.name), ("shop", "web-0-net"));
        let [pod] = &*claim.pods else { panic!("{:?}", claim.pods) };
        assert_eq!((&*pod.name, pod.uid.to_string().len()), ("web-0", 36), "not those of other resources");
        let [first, shared, gpu] = &*claim.devices else { panic!("{:?}", claim.devices) };
        let network =
            PodNetwork { kind: "PodNetwork".into(), name: "storage".into(), namespace: "shop".into() };
        assert_eq!((&first.network, first.ready), (&Ok(Some(network)), false));
        let addresses: Vec<String> = first.addresses.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(addresses, ["192.168.7.1", "fd00:7::1"]);
        assert_eq!((&*first.request, &*shared.request, &*gpu.request), ("net", "net/fast", ""));
        assert_eq!((&shared.network, shared.ready, shared.addresses.is_err()), (&Ok(None), true, true));
        assert!(gpu.addresses.as_deref().unwrap().is_empty() && gpu.ready, "{gpu:?}");
    }

    #[test]
    fn a_network_that_cannot_be_read_is_described() {
        let device =
            |network| json!({"driver": "d", "pool": "p", "device": "x", "data": {"podNetwork": network}});
        let claim =
            read(&json!({"devices": [device(json!("storage")), device(json!({"kind": "PodNetwork"}))]}));
        for device in &claim.devices {
            let reason = device.network.as_ref().unwrap_err();
            assert!(reason.starts_with("data.podNetwork: "), "{reason}");
        }
    }

    /// Go reads deeper JSON than `serde_json` does, and half of a surrogate pair.
    #[test]
    fn data_of_any_shape_costs_no_other_device() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        for data in [&deep, &format!(r#"{{"other": {deep}}}"#), r#"{"other": "\ud800"}"#, r#""text""#] {
            let object = format!(
                r#"{{"metadata": {{"namespace": "shop", "name": "web-0", "resourceVersion": "7"}}, "status": {{"devices": [
                    {{"driver": "d", "pool": "p", "device": "x", "data": {data}, "networkData": {{"ips": ["192.0.2.1/24"]}}}}]}}}}"#
            );
            let (claim, _) = ResourceClaim::read_json(&object, &mut Interner::default()).unwrap();
            let [device] = &*claim.devices else { panic!("{claim:?}") };
            assert_eq!((&device.network, device.addresses.as_ref().unwrap().len()), (&Ok(None), 1), "{data}");
        }
    }

    #[test]
    fn a_device_for_administrators_is_left_out() {
        let device = json!({"driver": "d", "pool": "p", "device": "x"});
        let result = json!({"driver": "d", "pool": "p", "device": "x", "request": "r", "adminAccess": true});
        let claim = read(&json!({"devices": [device], "allocation": {"devices": {"results": [result]}}}));
        assert!(claim.devices.is_empty(), "{claim:?}");
    }

    #[test]
    fn a_claim_without_a_status_is_nobodys() {
        for status in [json!({}), json!({"devices": null, "reservedFor": null, "allocation": null})] {
            let claim = read(&status);
            assert!(claim.pods.is_empty() && claim.devices.is_empty(), "{claim:?}");
        }
    }

    #[test]
    fn an_address_is_read_with_or_without_its_prefix_length() {
        for (text, expected) in [
            ("192.0.2.1", Some("192.0.2.1")),
            ("192.0.2.1/24", Some("192.0.2.1")),
            ("2001:DB8::1/128", Some("2001:db8::1")),
            ("::ffff:192.0.2.1/120", Some("192.0.2.1")),
            ("192.0.2.1/", None),
            ("192.0.2.1/129", None),
            ("192.0.2.1/24/24", None),
            ("192.0.2/24", None),
            ("", None),
        ] {
            let read = address(text).ok().map(|address| address.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_cached_claim_takes_less_than_a_kilobyte() {
        let claim = full();
        let parts = size_of_val(&*claim.pods) + size_of_val(&*claim.devices);
        let total = size_of::<ResourceClaim>() + parts;
        assert!(total < 700, "{total}");
    }
}
