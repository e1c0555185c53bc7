//! One write of one object, as every controller makes it: what counts as done, and an error that says what was tried.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::key::ObjectKey;
use crate::queue::Cause;
use kube_api::{ApiClient, ApiError, Object, Preconditions};

/// The annotation with the time of the change that caused a write, which says nothing about the content (`k8s.io/api`
/// `core/v1` `EndpointsLastChangeTriggerTime`).
const LAST_CHANGE_TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// A namespaced kind that controllers write.
pub trait Writable: Object + Metadata<Ty = ObjectMeta> + Clone {}

impl<T: Object + Metadata<Ty = ObjectMeta> + Clone> Writable for T {}

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
    /// The [fingerprint] of what was to be stored.
    what: u64,
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
    fn new<T: Writable>(verb: Verb, key: &ObjectKey, what: u64, source: ApiError) -> Self {
        let kind = <T as k8s_openapi::Resource>::KIND;
        Self { verb, kind, key: key.clone(), generates_name: false, what, source }
    }

    /// The same error as part of something larger that failed with it, by its [fingerprint].
    #[must_use]
    pub fn part_of(self, what: u64) -> Self {
        Self { what, ..self }
    }

    /// What this means for the next try. Failures of the same content count together.
    pub fn cause(&self) -> Cause {
        if self.heals_by_itself() {
            return Cause::Conflict;
        }
        Cause::Failure { what: self.what, unanswered: self.source.is_unanswered() }
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
            let what = fingerprint([object]);
            Err(WriteError { generates_name, ..WriteError::new::<T>(Verb::Create, key, what, error) })
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
    let updated =
        updated.map_err(|error| WriteError::new::<T>(Verb::Update, key, fingerprint([object]), error))?;
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
        Err(error) if !error.is_not_found() => {
            Err(WriteError::new::<T>(Verb::Delete, key, fingerprint::<T>([]), error))
        }
        _ => Ok(()),
    }
}

fn version(object: &impl Writable) -> &str {
    object.metadata().resource_version.as_deref().unwrap_or_default()
}

/// A number that differs when something else is to be written, which makes a failure a new one. Versions and the time of
/// the change don't count.
///
/// For the timing of retries only: two contents of the same number would at worst share a back-off. Cost: an encoding of
/// each object.
pub fn fingerprint<'a, T: Writable + 'a>(objects: impl IntoIterator<Item = &'a T>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for object in objects {
        let mut object = object.clone();
        let metadata = std::mem::take(object.metadata_mut());
        let mut annotations = metadata.annotations;
        if let Some(annotations) = &mut annotations {
            annotations.remove(LAST_CHANGE_TRIGGER_TIME);
        }
        *object.metadata_mut() =
            ObjectMeta { name: metadata.name, labels: metadata.labels, annotations, ..ObjectMeta::default() };
        object.encode().hash(&mut hasher);
    }
    hasher.finish()
}

fn collection<T: Writable>(key: &ObjectKey) -> String {
    let root = if T::GROUP.is_empty() { "api" } else { "apis" };
    let version = <T as k8s_openapi::Resource>::API_VERSION;
    format!("/{root}/{version}/namespaces/{}/{}", key.namespace, T::URL_PATH_SEGMENT)
}

fn path<T: Writable>(key: &ObjectKey) -> String {
    format!("{}/{}", collection::<T>(key), key.name)
}
