//! EndpointSlices, kept encoded.

use std::hash::BuildHasher;
use std::sync::Arc;

use endpointslice::Interner;
use endpointslice::expectations::ObjectVersion;
use endpointslice::model::{ResourceVersion, Uid};
use foldhash::quality::RandomState;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_protobuf::{DecodeError, Message};
use serde::de::Error as _;

use super::{LastManagers, Packed};
use crate::resource::{Index, Resource, identical_to};
use crate::store::hash::{Seed, spread};
use crate::store::small_set::SmallSet;
use crate::store::table::Table;

/// An EndpointSlice in its encoded form, and the fields that it is looked up by. Most slices are only ever compared.
///
/// The encoded form takes a fraction of the memory of the decoded one, and keeps unknown fields;
/// packed, it takes a third of that.
/// managedFields are dropped, as upstream does, except for the managers that wrote last.
#[derive(Debug, PartialEq, Eq)]
pub struct CachedSlice {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Box<str>,
    /// The uid.
    pub uid: Uid,
    /// The resourceVersion.
    pub version: ResourceVersion,
    /// The generation, which counts changes of anything but annotations.
    pub generation: i64,
    /// The value of the label `kubernetes.io/service-name`, unless empty.
    pub service: Option<Arc<str>>,
    /// The value of the label `endpointslice.kubernetes.io/managed-by`, unless empty.
    pub managed_by: Option<Arc<str>>,
    /// True if the slice is being deleted.
    pub deleting: bool,
    /// The clients that wrote this version.
    pub last_managers: LastManagers,
    /// The protobuf message, without its envelope.
    pub encoded: Packed,
}

impl CachedSlice {
    /// Generation and resourceVersion.
    pub(crate) fn object_version(&self) -> ObjectVersion {
        ObjectVersion { generation: self.generation, resource_version: self.version }
    }

    /// Decodes the whole object. Cost: about a microsecond for each endpoint.
    pub fn decode(&self) -> Result<EndpointSlice, DecodeError> {
        EndpointSlice::decode(&self.encoded.unpack())
    }

    /// Decodes its metadata. Cost: the endpoints are unpacked and skipped.
    pub(crate) fn decode_metadata(&self) -> Result<ObjectMeta, DecodeError> {
        Ok(kube_protobuf::split_endpoint_slice(&self.encoded.unpack())?.0.metadata)
    }
}

impl Resource for CachedSlice {
    const KIND: &'static str = "EndpointSlice";
    const RESOURCE: &'static str = "endpointslices";
    const PATH: &'static str = "/apis/discovery.k8s.io/v1/endpointslices";
    const WRITTEN: bool = true;
    const HAS_PROTOBUF: bool = true;

    type Index = SliceIndex;

    fn read_protobuf<'a>(raw: &'a [u8], interner: &mut Interner) -> Result<(Self, &'a str), DecodeError> {
        let meta = kube_protobuf::meta(raw)?;
        let encoded = kube_protobuf::without_managed_fields(raw)?;
        let label = |key| meta.labels.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| value);
        let object = Self {
            namespace: interner.string(meta.namespace),
            name: meta.name.into(),
            uid: meta.uid.into(),
            version: meta.resource_version.into(),
            generation: meta.generation,
            service: interner.non_empty(label(endpointslice::well_known::SERVICE_NAME)),
            managed_by: interner.non_empty(label(endpointslice::well_known::MANAGED_BY)),
            deleting: meta.deletion_timestamp.is_some(),
            last_managers: LastManagers::new(kube_protobuf::last_managers(raw)?, interner),
            encoded: Packed::new(&encoded),
        };
        Ok((object, meta.resource_version))
    }

    /// Encodes the object as protobuf, so that the rest of the program sees one form.
    fn read_json(json: &str, interner: &mut Interner) -> Result<(Self, String), serde_json::Error> {
        let slice: EndpointSlice = serde_json::from_str(json)?;
        let object = Self::from_protobuf(&slice.encode(), interner).map_err(serde_json::Error::custom)?;
        let last_managers = LastManagers::of(&slice.metadata, interner);
        Ok((Self { last_managers, ..object }, slice.metadata.resource_version.unwrap_or_default()))
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

/// Slices by namespace and Service.
#[derive(Default)]
pub struct SliceIndex {
    services: Table<ServiceSlices>,
    seed: Seed,
    /// Hashes the names of slices.
    names: RandomState,
}

/// The slices of one Service. Namespace and name are read from any of them.
struct ServiceSlices {
    hash: u32,
    slices: SmallSet<Arc<CachedSlice>>,
}

impl ServiceSlices {
    /// True if these are the slices of this Service, whose namespace and name hash to `hash`.
    fn are_of(&self, hash: u32, namespace: &str, service: &str) -> bool {
        let is_of = |slice: &Arc<CachedSlice>| {
            *slice.namespace == *namespace && slice.service.as_deref() == Some(service)
        };
        // The only empty one is that which is being removed.
        self.hash == hash && self.slices.iter().next().is_none_or(is_of)
    }
}

impl Index<CachedSlice> for SliceIndex {
    fn insert(&mut self, slice: &Arc<CachedSlice>) {
        let Some(service) = &slice.service else { return };
        let hash = self.seed.short((&slice.namespace, service));
        let is_wanted = |slices: &ServiceSlices| slices.are_of(hash, &slice.namespace, service);
        if let Some(found) = self.services.find_mut(spread(hash), is_wanted) {
            let names = &self.names;
            found.slices.insert_unique(Arc::clone(slice), |slice| names.hash_one(&*slice.name));
        } else {
            let new = ServiceSlices { hash, slices: SmallSet::One(Arc::clone(slice)) };
            self.services.insert_unique(new, |slices| spread(slices.hash));
        }
    }

    fn remove(&mut self, slice: &Arc<CachedSlice>) {
        let Some(service) = &slice.service else { return };
        let hash = self.seed.short((&slice.namespace, service));
        let is_wanted = |slices: &ServiceSlices| slices.are_of(hash, &slice.namespace, service);
        if let Some(found) = self.services.find_mut(spread(hash), is_wanted)
            && found.slices.remove(self.names.hash_one(&*slice.name), identical_to(slice))
        {
            self.services.remove(spread(hash), is_wanted);
        }
    }
}

impl SliceIndex {
    /// The slices of a Service, of any controller.
    pub(crate) fn of_service(
        &self,
        namespace: &str,
        service: &str,
    ) -> impl Iterator<Item = &Arc<CachedSlice>> {
        let hash = self.seed.short((namespace, service));
        let found = self.services.find(spread(hash), |slices| slices.are_of(hash, namespace, service));
        found.into_iter().flat_map(|found| found.slices.iter())
    }
}

#[cfg(test)]
impl SliceIndex {
    pub(crate) fn is_empty(&self) -> bool {
        self.services.is_empty()
    }
}
