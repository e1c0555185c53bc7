//! Endpoints, kept encoded.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpointslice::Interner;
use endpointslice::model::{ResourceVersion, Uid};
use endpointslice::well_known::{LEADER, SKIP_MIRROR};
use k8s_openapi::api::core::v1::Endpoints;
use kube_protobuf::{DecodeError, Message};
use serde::de::Error as _;

use super::{LastManagers, Packed};
use crate::resource::Resource;

/// An Endpoints object in its encoded form, for the reasons given at [`CachedSlice`](super::CachedSlice).
#[derive(Debug, PartialEq, Eq)]
pub struct CachedEndpoints {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name, which is the Service's.
    pub name: Arc<str>,
    /// The uid.
    pub uid: Uid,
    /// The resourceVersion.
    pub version: ResourceVersion,
    /// True if the label `endpointslice.kubernetes.io/skip-mirror` is true.
    pub skips_mirror: bool,
    /// True if the annotation of leader election is set.
    pub elects_a_leader: bool,
    /// The clients that wrote this version.
    pub last_managers: LastManagers,
    /// The protobuf message, without its envelope.
    pub encoded: Packed,
}

impl CachedEndpoints {
    /// Decodes the whole object. Cost: about a microsecond for each address.
    pub fn decode(&self) -> Result<Endpoints, DecodeError> {
        Endpoints::decode(&self.encoded.unpack())
    }
}

impl Resource for CachedEndpoints {
    const KIND: &'static str = "Endpoints";
    const RESOURCE: &'static str = "endpoints";
    const PATH: &'static str = "/api/v1/endpoints";
    const WRITTEN: bool = true;
    const HAS_PROTOBUF: bool = true;

    type Index = ();

    fn read_protobuf<'a>(raw: &'a [u8], interner: &mut Interner) -> Result<(Self, &'a str), DecodeError> {
        let meta = kube_protobuf::meta(raw)?;
        let encoded = kube_protobuf::without_managed_fields(raw)?;
        let object = Self {
            namespace: interner.string(meta.namespace),
            name: interner.string(meta.name),
            uid: meta.uid.into(),
            version: meta.resource_version.into(),
            skips_mirror: meta.labels.contains(&(SKIP_MIRROR, "true")),
            elects_a_leader: meta.annotations.iter().any(|(key, _)| *key == LEADER),
            last_managers: LastManagers::new(kube_protobuf::last_managers(raw)?, interner),
            encoded: Packed::new(&encoded),
        };
        Ok((object, meta.resource_version))
    }

    /// Encodes the object as protobuf, so that the rest of the program sees one form.
    fn read_json(json: &str, interner: &mut Interner) -> Result<(Self, String), serde_json::Error> {
        let endpoints: Endpoints = serde_json::from_str(json)?;
        let object = Self::from_protobuf(&endpoints.encode(), interner).map_err(serde_json::Error::custom)?;
        let last_managers = LastManagers::of(&endpoints.metadata, interner);
        Ok((Self { last_managers, ..object }, endpoints.metadata.resource_version.unwrap_or_default()))
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn key(&self) -> ObjectKey {
        ObjectKey { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
