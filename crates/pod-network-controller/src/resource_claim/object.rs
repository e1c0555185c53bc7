//! The fields of a ResourceClaim that are read (`k8s.io/api/resource/v1`).

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The object.
#[derive(Deserialize)]
pub(super) struct Object {
    pub(super) metadata: Metadata,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) namespace: String,
    pub(super) name: String,
    /// Objects of files have none.
    #[serde(default)]
    pub(super) resource_version: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    #[serde(deserialize_with = "nullable")]
    pub(super) reserved_for: Vec<Reference>,
    #[serde(deserialize_with = "nullable")]
    pub(super) devices: Vec<DeviceStatus>,
    #[serde(deserialize_with = "nullable")]
    pub(super) allocation: Allocation,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    #[serde(default)]
    pub(super) api_group: String,
    pub(super) resource: String,
    pub(super) name: String,
    pub(super) uid: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeviceStatus {
    pub(super) driver: String,
    pub(super) pool: String,
    pub(super) device: String,
    #[serde(default, rename = "shareID")]
    pub(super) share_id: Option<String>,
    /// Go writes null for none.
    #[serde(default, deserialize_with = "nullable")]
    pub(super) conditions: Vec<Condition>,
    /// Written by drivers, with whatever they define besides `podNetwork`, in any shape.
    #[serde(default)]
    pub(super) data: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) network_data: NetworkData,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeviceId {
    pub(super) driver: String,
    pub(super) pool: String,
    pub(super) device: String,
    #[serde(default, rename = "shareID")]
    pub(super) share_id: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NetworkData {
    #[serde(deserialize_with = "nullable")]
    pub(super) ips: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Allocation {
    #[serde(deserialize_with = "nullable")]
    pub(super) devices: AllocatedDevices,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AllocatedDevices {
    #[serde(deserialize_with = "nullable")]
    pub(super) results: Vec<AllocatedDevice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AllocatedDevice {
    #[serde(flatten)]
    pub(super) id: DeviceId,
    pub(super) request: String,
    /// The device may belong to other pods: what its driver reports is not about this claim's.
    #[serde(default)]
    pub(super) admin_access: Option<bool>,
}

/// The fields of `data` that are read.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Data {
    pub(super) pod_network: Option<NetworkReference>,
}

/// `podNetwork` in `data`, as the multi-network API defines it.
#[derive(Deserialize)]
pub(super) struct NetworkReference {
    #[serde(default, deserialize_with = "nullable")]
    pub(super) kind: String,
    pub(super) name: String,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) namespace: String,
}

fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

impl DeviceStatus {
    /// The result of the allocation that the status is about.
    pub(super) fn allocation<'a>(&self, results: &'a [AllocatedDevice]) -> Option<&'a AllocatedDevice> {
        let Self { driver, pool, device, share_id, .. } = self;
        results.iter().find(|AllocatedDevice { id, .. }| {
            (&id.driver, &id.pool, &id.device, &id.share_id) == (driver, pool, device, share_id)
        })
    }
}
