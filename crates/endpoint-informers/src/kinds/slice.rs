//! EndpointSlices, kept encoded.

use std::hash::BuildHasher;
use std::sync::Arc;

use endpointslice::Interner;
use endpointslice::expectations::ObjectVersion;
use endpointslice::model::{ResourceVersion, Uid};
use foldhash::quality::RandomState;
use hashbrown::HashMap;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::{DecodeError, Message};
use serde::de::Error as _;

use super::{LastManagers, Packed};
use crate::resource::{Index, Resource};
use crate::store::small_set::SmallSet;

/// An EndpointSlice in its encoded form, and the fields that it is looked up by. Most slices are only ever compared.
///
/// The encoded form takes a fraction of the memory of the decoded one, and keeps fields that this program doesn't know;
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
    pub fn object_version(&self) -> ObjectVersion {
        ObjectVersion { generation: self.generation, resource_version: self.version }
    }

    /// Decodes the whole object. Cost: about a microsecond for each endpoint.
    pub fn decode(&self) -> Result<EndpointSlice, DecodeError> {
        EndpointSlice::decode(&self.encoded.unpack())
    }
}

impl Resource for CachedSlice {
    const KIND: &'static str = "EndpointSlice";
    const RESOURCE: &'static str = "endpointslices";
    const PATH: &'static str = "/apis/discovery.k8s.io/v1/endpointslices";
    const WRITTEN: bool = true;

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
    by_service: HashMap<(Arc<str>, Arc<str>), SmallSet<Arc<CachedSlice>>, RandomState>,
    /// Hashes the names of slices.
    names: RandomState,
}

impl Index<CachedSlice> for SliceIndex {
    fn insert(&mut self, slice: &Arc<CachedSlice>) {
        let Some(service) = &slice.service else { return };
        let key = (Arc::clone(&slice.namespace), Arc::clone(service));
        match self.by_service.get_mut(&key) {
            Some(slices) => {
                let names = &self.names;
                slices.insert_unique(Arc::clone(slice), |slice| names.hash_one(&*slice.name));
            }
            None => {
                self.by_service.insert(key, SmallSet::One(Arc::clone(slice)));
            }
        }
    }

    fn remove(&mut self, slice: &Arc<CachedSlice>) {
        let Some(service) = &slice.service else { return };
        let key = (Arc::clone(&slice.namespace), Arc::clone(service));
        if let Some(slices) = self.by_service.get_mut(&key)
            && slices.remove(self.names.hash_one(&*slice.name), |other| other.name == slice.name)
        {
            self.by_service.remove(&key);
        }
    }
}

impl SliceIndex {
    /// The slices of a Service, of any controller.
    pub(crate) fn of_service(
        &self,
        namespace: &Arc<str>,
        service: &Arc<str>,
    ) -> impl Iterator<Item = &Arc<CachedSlice>> {
        let key = (Arc::clone(namespace), Arc::clone(service));
        self.by_service.get(&key).into_iter().flat_map(SmallSet::iter)
    }
}

#[cfg(test)]
impl SliceIndex {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_service.is_empty()
    }
}
