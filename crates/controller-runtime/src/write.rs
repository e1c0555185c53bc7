//! One write of one object, as every controller makes it: what counts as done, and an error that says what was tried.

use std::fmt;

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::{ApiClient, ApiError, Object, Preconditions};
use crate::cache::ObjectKey;

/// A namespaced kind that controllers write.
pub trait Writable: Object + Metadata<Ty = ObjectMeta> {}

impl<T: Object + Metadata<Ty = ObjectMeta>> Writable for T {}

/// A write that failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb} {kind} {key}")]
pub struct WriteError {
    /// What was tried.
    pub verb: Verb,
    kind: &'static str,
    key: ObjectKey,
    /// Whether the server was asked to find a name, of which the key has the prefix.
    generates_name: bool,
    /// Why it failed.
    pub source: ApiError,
}

/// The kinds of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// There was no such object.
    Create,
    /// It was to be replaced.
    Update,
    /// It was to go.
    Delete,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        })
    }
}

impl WriteError {
    fn new<T: Writable>(verb: Verb, key: &ObjectKey, source: ApiError) -> Self {
        let kind = <T as k8s_openapi::Resource>::KIND;
        Self { verb, kind, key: key.clone(), generates_name: false, source }
    }

    /// True if the API server holds something else than the cache showed: a newer cache is all it takes.
    pub fn heals_by_itself(&self) -> bool {
        self.source.is_conflict()
            || match self.verb {
                Verb::Create => self.source.is_already_exists() && !self.generates_name,
                Verb::Update => self.source.is_not_found(),
                Verb::Delete => false,
            }
    }
}

/// Creates the object, as the API server returns it; `None` if the namespace is being deleted, where nothing can be
/// created any more. Without a name in its metadata, it gets one that begins with the key's.
pub async fn create<T: Writable>(
    client: &ApiClient,
    key: &ObjectKey,
    object: &T,
) -> Result<Option<T>, WriteError> {
    let before = client.version_guard().before(T::URL_PATH_SEGMENT);
    match client.create(&collection::<T>(key), object).await {
        Err(error) if error.is_namespace_terminating() => Ok(None),
        Err(error) => {
            let generates_name = object.metadata().name.is_none();
            Err(WriteError { generates_name, ..WriteError::new::<T>(Verb::Create, key, error) })
        }
        Ok(created) => {
            client.version_guard().wrote(&before, None, version(&created));
            Ok(Some(created))
        }
    }
}

/// Replaces the object, if it has not changed since it was read with its resourceVersion. Returns what is stored.
pub async fn update<T: Writable>(client: &ApiClient, key: &ObjectKey, object: &T) -> Result<T, WriteError> {
    let before = client.version_guard().before(T::URL_PATH_SEGMENT);
    let updated = client.update(&path::<T>(key), object).await;
    let updated = updated.map_err(|error| WriteError::new::<T>(Verb::Update, key, error))?;
    client.version_guard().wrote(&before, Some(version(object)), version(&updated));
    Ok(updated)
}

/// Deletes the object if the preconditions hold; one that is gone already counts as deleted.
pub async fn delete<T: Writable>(
    client: &ApiClient,
    key: &ObjectKey,
    preconditions: &Preconditions,
) -> Result<(), WriteError> {
    match client.delete(&path::<T>(key), preconditions).await {
        Err(error) if !error.is_not_found() => Err(WriteError::new::<T>(Verb::Delete, key, error)),
        _ => Ok(()),
    }
}

fn version(object: &impl Writable) -> &str {
    object.metadata().resource_version.as_deref().unwrap_or_default()
}

fn collection<T: Writable>(key: &ObjectKey) -> String {
    let root = if T::GROUP.is_empty() { "api" } else { "apis" };
    let version = <T as k8s_openapi::Resource>::API_VERSION;
    format!("/{root}/{version}/namespaces/{}/{}", key.namespace, T::URL_PATH_SEGMENT)
}

fn path<T: Writable>(key: &ObjectKey) -> String {
    format!("{}/{}", collection::<T>(key), key.name)
}
