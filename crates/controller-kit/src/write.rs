//! Writes of single objects, with errors that name the object and classify the failure.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::key::ObjectKey;
use crate::queue::Cause;
use crate::worker::SyncContext;
use kube_api::{ApiClient, ApiError, Object, Preconditions};

/// A namespaced kind that can be written.
pub trait Writable: Object + Metadata<Ty = ObjectMeta> + Clone {}

impl<T: Object + Metadata<Ty = ObjectMeta> + Clone> Writable for T {}

/// A failed write.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb} {kind} {key}")]
pub struct WriteError {
    /// The kind of write.
    pub verb: Verb,
    kind: &'static str,
    key: ObjectKey,
    /// True if the server was to generate the name; the key has the prefix.
    generates_name: bool,
    /// The [fingerprint](ObjectWriter::fingerprint) of what was to be stored.
    fingerprint: u64,
    /// The error of the request.
    pub source: ApiError,
}

/// The kinds of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// POST.
    Create,
    /// PUT.
    Update,
    /// DELETE.
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
    fn new<T: Writable>(verb: Verb, key: &ObjectKey, fingerprint: u64, source: ApiError) -> Self {
        let kind = <T as k8s_openapi::Resource>::KIND;
        Self { verb, kind, key: key.clone(), generates_name: false, fingerprint, source }
    }

    /// The name of the object, unless the server was to generate it.
    pub fn name(&self) -> Option<&str> {
        (!self.generates_name).then_some(&*self.key.name)
    }

    /// The same error with another fingerprint: that of the larger change that failed with it.
    #[must_use]
    pub fn with_fingerprint(self, fingerprint: u64) -> Self {
        Self { fingerprint, ..self }
    }

    /// The cause by which the next try is timed. Failures with one fingerprint count together.
    pub fn cause(&self) -> Cause {
        if self.is_transient() { Cause::Conflict } else { Cause::of_request(self.fingerprint, &self.source) }
    }

    /// True if the API server's state differs from the cache, so that an up-to-date cache resolves the error: a
    /// conflict, a create of an existing object, an update of a deleted one.
    pub fn is_transient(&self) -> bool {
        self.source.is_conflict()
            || match self.verb {
                Verb::Create => self.source.is_already_exists() && !self.generates_name,
                Verb::Update => self.source.is_not_found(),
                Verb::Delete => false,
            }
    }

    /// True if the API server, or admission, has refused this very write. It may fail again and again while others succeed.
    pub fn is_refused(&self) -> bool {
        let is_overloaded = |code| matches!(code, 429 | 503 | 504);
        !self.is_transient()
            && matches!(&self.source, ApiError::Refused(status) if !is_overloaded(status.code))
    }
}

/// Writes objects through one client. A sync that calls it has found something to write
/// ([`SyncContext::begin_write`]).
///
/// ```no_run
/// use controller_kit::key::ObjectKey;
/// use controller_kit::write::ObjectWriter;
/// use k8s_openapi::api::coordination::v1::Lease;
///
/// # use controller_kit::worker::SyncContext;
/// # use controller_kit::write::WriteError;
/// # async fn example(client: kube_api::ApiClient, lease: Lease, sync: &SyncContext) -> Result<(), WriteError> {
/// let writer = ObjectWriter::new(client).ignoring_annotations(&["example.com/last-seen"]);
/// let stored = writer.update(sync, &ObjectKey::new("default", "web"), &lease).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ObjectWriter {
    client: ApiClient,
    /// For writes whose tokens are taken.
    prepaid: ApiClient,
    ignored_annotations: &'static [&'static str],
}

impl ObjectWriter {
    /// A writer whose requests go through `client`.
    pub fn new(client: ApiClient) -> Self {
        Self { prepaid: client.clone().prepaid(), client, ignored_annotations: &[] }
    }

    /// The same writer with annotations that say nothing about the content, such as a time: a failure whose next try
    /// differs only in these is the same failure, see [`Self::fingerprint`].
    #[must_use]
    pub fn ignoring_annotations(self, ignored_annotations: &'static [&'static str]) -> Self {
        Self { ignored_annotations, ..self }
    }

    /// Creates the object, and returns the metadata of the stored one, perhaps without owners, finalizers and times; `None`
    /// if the namespace is being deleted, where nothing can be created. An object without a name in its metadata gets one
    /// that begins with the key's.
    pub async fn create<T: Writable>(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        object: &T,
    ) -> Result<Option<ObjectMeta>, WriteError> {
        sync.begin_write();
        let versions = self.client.version_guard();
        let baseline = versions.baseline(T::URL_PATH_SEGMENT);
        match self.client(sync).create_for_metadata(&collection::<T>(key), object).await {
            Err(error) if error.is_namespace_terminating() => Ok(None),
            Err(error) => {
                let generates_name = object.metadata().name.is_none();
                let fingerprint = self.fingerprint([object]);
                let error = WriteError::new::<T>(Verb::Create, key, fingerprint, error);
                Err(WriteError { generates_name, ..error })
            }
            Ok(created) => {
                versions.check_write(&baseline, None, version(&created));
                Ok(Some(created))
            }
        }
    }

    /// Replaces the object if it has not changed since its resourceVersion. Returns of the stored one what
    /// [`Self::create`] does.
    pub async fn update<T: Writable>(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        object: &T,
    ) -> Result<ObjectMeta, WriteError> {
        sync.begin_write();
        let versions = self.client.version_guard();
        let baseline = versions.baseline(T::URL_PATH_SEGMENT);
        let updated =
            self.client(sync).update_for_metadata(&path::<T>(key), object).await.map_err(|error| {
                WriteError::new::<T>(Verb::Update, key, self.fingerprint([object]), error)
            })?;
        versions.check_write(&baseline, Some(version(object.metadata())), version(&updated));
        Ok(updated)
    }

    /// Deletes the object if the preconditions hold. An object that does not exist counts as deleted.
    pub async fn delete<T: Writable>(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        preconditions: &Preconditions,
    ) -> Result<(), WriteError> {
        sync.begin_write();
        match self.client(sync).delete(&path::<T>(key), preconditions).await {
            Err(error) if !error.is_not_found() => {
                Err(WriteError::new::<T>(Verb::Delete, key, self.fingerprint::<T>([]), error))
            }
            _ => Ok(()),
        }
    }

    /// The client for the next request of a sync: without a limit for those that it was
    /// [admitted](SyncContext::admit) for.
    pub fn client(&self, sync: &SyncContext) -> &ApiClient {
        if sync.take_prepaid() { &self.prepaid } else { &self.client }
    }

    /// Hashes what is to be written, so that a failure to write something else counts as a new failure. Versions, ignored
    /// annotations and the order don't count.
    ///
    /// For the timing of retries only: two contents with one fingerprint would at worst share a back-off. Cost: an
    /// encoding of each object.
    pub fn fingerprint<'a, T: Writable + 'a>(&self, objects: impl IntoIterator<Item = &'a T>) -> u64 {
        let fingerprint = |object: &T| {
            let mut hasher = DefaultHasher::new();
            let mut object = object.clone();
            let ObjectMeta { name, labels, mut annotations, .. } = std::mem::take(object.metadata_mut());
            if let Some(annotations) = &mut annotations {
                annotations.retain(|name, _| !self.ignored_annotations.contains(&&**name));
            }
            *object.metadata_mut() = ObjectMeta { name, labels, annotations, ..ObjectMeta::default() };
            object.encode().hash(&mut hasher);
            hasher.finish()
        };
        objects.into_iter().map(fingerprint).fold(0, u64::wrapping_add)
    }
}

fn version(metadata: &ObjectMeta) -> &str {
    metadata.resource_version.as_deref().unwrap_or_default()
}

fn collection<T: Writable>(key: &ObjectKey) -> String {
    let root = if T::GROUP.is_empty() { "api" } else { "apis" };
    let version = <T as k8s_openapi::Resource>::API_VERSION;
    format!("/{root}/{version}/namespaces/{}/{}", key.namespace, T::URL_PATH_SEGMENT)
}

fn path<T: Writable>(key: &ObjectKey) -> String {
    format!("{}/{}", collection::<T>(key), key.name)
}
