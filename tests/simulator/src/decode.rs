//! Objects and resources of requests.

use http::HeaderMap;
use kube_protobuf::{Message, Unknown};
use serde::de::DeserializeOwned;

/// The object of an answer, in protobuf or JSON.
pub fn decode<T: Message + DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Option<T> {
    let content = headers.get(http::header::CONTENT_TYPE)?.to_str().ok()?;
    if content.contains("protobuf") {
        T::decode(Unknown::parse(body).ok()?.raw).ok()
    } else {
        serde_json::from_slice(body).ok()
    }
}

/// The resource of a path, without the name of an object.
pub fn resource(path: &str) -> &str {
    match path.split_once("/namespaces/") {
        Some((_, rest)) => rest.split('/').nth(1).unwrap_or(rest),
        None => path.rsplit('/').next().unwrap_or(path),
    }
}
