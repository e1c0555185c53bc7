//! The encodings of objects: protobuf and JSON.

use std::collections::BTreeMap;
use std::str::FromStr;

use http::HeaderValue;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_protobuf::Message;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::ApiError;

/// The encoding of requests and, as far as the server agrees, of responses (`--kube-api-content-type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// `application/vnd.kubernetes.protobuf`: costs the API server an eleventh of JSON.
    #[default]
    Protobuf,
    /// `application/json`: readable, for debugging and for proxies that require it.
    Json,
}

/// An unsupported content type.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not supported, use {PROTOBUF} or {JSON}")]
pub struct UnknownEncoding(String);

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON: &str = "application/json";

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            PROTOBUF => Ok(Self::Protobuf),
            JSON => Ok(Self::Json),
            _ => Err(UnknownEncoding(text.to_owned())),
        }
    }
}

/// A kind that can be sent and received in both encodings.
pub trait Object: Message + Serialize + DeserializeOwned + Send + Sync {}

impl<T: Message + Serialize + DeserializeOwned + Send + Sync> Object for T {}

impl Encoding {
    pub(crate) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Protobuf => PROTOBUF,
            Self::Json => JSON,
        })
    }

    /// The value of `Accept`. Includes JSON always, because proxies and aggregated servers may respond in nothing else.
    pub(crate) fn accept(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Protobuf => "application/vnd.kubernetes.protobuf,application/json",
            Self::Json => JSON,
        })
    }

    /// The encoding of a response, by its `Content-Type`.
    pub fn of_response(headers: &http::HeaderMap) -> Self {
        let content_type = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if content_type.is_some_and(|value| value.starts_with(PROTOBUF)) {
            Self::Protobuf
        } else {
            Self::Json
        }
    }

    pub(crate) fn encode<T: Object>(self, object: &T) -> Result<Vec<u8>, ApiError> {
        match self {
            Self::Protobuf => Ok(kube_protobuf::wrap(T::API_VERSION, T::KIND, &object.encode())),
            Self::Json => serde_json::to_vec(object).map_err(ApiError::malformed),
        }
    }

    pub(crate) fn decode<T: Object>(self, bytes: &[u8]) -> Result<T, ApiError> {
        match self {
            Self::Protobuf => {
                let envelope = kube_protobuf::Unknown::parse(bytes).map_err(ApiError::malformed)?;
                T::decode(envelope.raw).map_err(ApiError::malformed)
            }
            Self::Json => serde_json::from_slice(bytes).map_err(ApiError::malformed),
        }
    }

    /// Reads the metadata of an object; in protobuf without owners, finalizers and times.
    ///
    /// Cost: in protobuf, independent of the size of the object.
    pub(crate) fn decode_metadata(self, bytes: &[u8]) -> Result<ObjectMeta, ApiError> {
        match self {
            Self::Protobuf => {
                let envelope = kube_protobuf::Unknown::parse(bytes).map_err(ApiError::malformed)?;
                Ok(metadata(&kube_protobuf::meta(envelope.raw).map_err(ApiError::malformed)?))
            }
            Self::Json => {
                let head: Head = serde_json::from_slice(bytes).map_err(ApiError::malformed)?;
                Ok(head.metadata)
            }
        }
    }
}

#[derive(Deserialize)]
struct Head {
    metadata: ObjectMeta,
}

fn metadata(view: &kube_protobuf::MetaView<'_>) -> ObjectMeta {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let map = |pairs: &[(&str, &str)]| {
        let map: BTreeMap<String, String> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Some(map).filter(|map| !map.is_empty())
    };
    ObjectMeta {
        name: text(view.name),
        generate_name: text(view.generate_name),
        namespace: text(view.namespace),
        uid: text(view.uid),
        resource_version: text(view.resource_version),
        generation: Some(view.generation).filter(|generation| *generation != 0),
        labels: map(&view.labels),
        annotations: map(&view.annotations),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::Lease;
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_is_that_of_the_object_in_either_encoding() {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {}, "metadata": {
            "name": "web-x", "generateName": "web-", "namespace": "shop", "uid": "u", "resourceVersion": "7",
            "generation": 2, "labels": {"a": "b"}, "annotations": {"c": ""}}});
        let lease: Lease = serde_json::from_value(lease).unwrap();
        for object in [lease, Lease::default()] {
            for encoding in [Encoding::Protobuf, Encoding::Json] {
                let encoded = encoding.encode(&object).unwrap();
                assert_eq!(encoding.decode_metadata(&encoded).unwrap(), object.metadata, "{encoding:?}");
            }
        }
    }
}
