//! The deletion of Endpoints whose Service was deleted.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use controller_kit::write::WriteError;
use endpoint_controllers_common::{ASK_AGAIN, has_selector, is_delegated, stored_service};
use endpoint_informers::controller::Controller as _;
use endpoint_informers::kinds::CachedEndpoints;
use endpointslice::Urgency;
use endpointslice::model::Uid;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::time::Instant;
use kube_api::{ApiClient, ApiError, Preconditions};
use tracing::debug;

use crate::controller::EndpointsController;
use crate::error::SyncError;
use crate::lookup::{Lookup, Unproven};
use crate::metadata::{self, has_our_label};
use crate::orphan::{Orphan, Verdict};

/// Endpoints to delete.
pub(crate) struct Target {
    uid: Option<Uid>,
    preconditions: Preconditions,
    /// True if this controller manages them, by their label.
    is_ours: bool,
}

impl Target {
    /// The object that the cache shows, if it still has this uid and version.
    pub(crate) fn cached(endpoints: &CachedEndpoints) -> Self {
        let resource_version = endpoints.version.number().map(|version| version.to_string());
        let uid = Some(endpoints.uid.to_string());
        Self {
            uid: Some(endpoints.uid.clone()),
            preconditions: Preconditions { uid, resource_version },
            is_ours: metadata::is_ours(endpoints),
        }
    }

    /// The object of this uid, in whatever version.
    fn of(uid: Uid, is_ours: bool) -> Self {
        let preconditions = Preconditions { uid: Some(uid.to_string()), resource_version: None };
        Self { uid: Some(uid), preconditions, is_ours }
    }

    /// Whatever object has the name.
    fn named() -> Self {
        Self { uid: None, preconditions: Preconditions::default(), is_ours: false }
    }
}

/// True if the requests may be made now that the Endpoints of a deleted Service need. Otherwise the key waits for its turn: also
/// with what only reads, or the requests for a thousand deleted Services would come before whatever is urgent.
pub(crate) fn may_request(sync: &SyncContext, lookup: &Lookup) -> bool {
    let requests = match lookup {
        Lookup::Nothing | Lookup::Waiting(_) | Lookup::Served(_) => return true,
        Lookup::Leftover(..) => 1,
        Lookup::Unclear(..) => 2,
        Lookup::Unproven(_) => 3,
    };
    sync.admit(Urgency::Soft.level(), requests) > 0
}

/// The metadata of the Endpoints of this name that were stored at a resourceVersion; `None` if there were none.
async fn endpoints_at(
    client: &ApiClient,
    key: &ObjectKey,
    version: u64,
) -> Result<Option<ObjectMeta>, ApiError> {
    let ObjectKey { namespace, name } = key;
    let path = format!(
        "/api/v1/namespaces/{namespace}/endpoints?fieldSelector=metadata.name={name}\
         &resourceVersion={version}&resourceVersionMatch=Exact"
    );
    let found: List<Endpoints> = client.get_json(&path).await?;
    Ok(found.items.into_iter().next().map(|endpoints| endpoints.metadata))
}

impl EndpointsController {
    /// Forgets a Service that was deleted, of a key whose sync is skipped, once its Endpoints are gone: others that are created
    /// under its name are not its.
    pub(crate) fn skip(&self, key: &ObjectKey) {
        self.cache.read(|state| {
            let stored = state.endpoints.get(&key.namespace, &key.name);
            let stored = stored.map(|stored| (&stored.uid, stored.version));
            let exists = state.services.get(&key.namespace, &key.name).is_some();
            let mut tracker = self.tracker.lock();
            let observed = state.endpoints.comparable();
            match tracker.orphan_of(key, stored, observed, Instant::now()).map(|(_, verdict)| verdict) {
                Some(Verdict::Delete | Verdict::Ask) if !exists && stored.is_some() => {}
                Some(Verdict::Wait(rest)) if !exists => self.queue.revisit(key.clone(), rest),
                _ => tracker.adopt(key),
            }
        });
    }

    /// Deletes the Endpoints that existed when their Service was deleted, if there were any: this process has created them,
    /// or the API server shows them at the resourceVersion of the deletion. If it does not have that any more, deletes those
    /// of the name, as upstream. Of a delegated Service only those go that were ours then, or
    /// that a late sync made ours.
    pub(crate) async fn delete_what_existed(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        unproven: Unproven,
    ) -> Result<Result<(), WriteError>, SyncError> {
        let Unproven { stored, is_own, created, orphan } = unproven;
        let any = || stored.as_ref().map_or_else(Target::named, |stored| Target::cached(stored));
        let deleted_at = orphan.deletion.and_then(|deletion| deletion.version);
        let target = match (created, deleted_at) {
            (Some(created), _) => Target::of(created, true),
            (None, None) => any(),
            (None, Some(version)) => match endpoints_at(self.client(sync), key, version).await {
                Ok(existed) => {
                    let is_ours = existed.as_ref().is_some_and(has_our_label);
                    let existed = existed.map(|it| Uid::from(&*it.uid.unwrap_or_default()));
                    let is_later = |shown: &&Arc<CachedEndpoints>| {
                        shown.version.number().is_some_and(|shown| shown > version)
                    };
                    let is_other = |uid: &Uid| existed.as_ref().is_none_or(|existed| existed != uid);
                    match (stored.as_ref().filter(is_later), &existed) {
                        // A sync that had not seen the deletion created it, or made another client's object ours again.
                        (Some(later), _) if is_own && (!is_ours || is_other(&later.uid)) => {
                            Target::cached(later)
                        }
                        (Some(later), _) if is_other(&later.uid) => return Ok(Ok(())),
                        (_, Some(uid)) => Target::of(uid.clone(), is_ours),
                        (_, None) => return Ok(Ok(())),
                    }
                }
                Err(error) if error.is_expired() || error.is_invalid() || error.is_too_new() => any(),
                Err(error) => return Err(self.unclear(key, orphan, error)),
            },
        };
        self.delete_if_leftover(sync, key, target, orphan).await
    }

    /// Deletes these Endpoints if the API server says that their Service was deleted, or given to another controller. Otherwise the
    /// cache is behind: the event of the Service queues the key, and so does time, because the Service may go before a list shows
    /// it.
    pub(crate) async fn delete_if_leftover(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        target: Target,
        orphan: Orphan,
    ) -> Result<Result<(), WriteError>, SyncError> {
        let service = match stored_service(self.client(sync), key).await {
            Ok(service) => service,
            Err(error) => return Err(self.unclear(key, orphan, error)),
        };
        // Another controller maintains the Endpoints of a delegated Service with a selector, which this one did if they are ours.
        let may_be_given = self.config.services_may_be_delegated && target.is_ours;
        if service.is_none_or(|service| may_be_given && is_delegated(&service) && has_selector(&service)) {
            Ok(self.delete_leftover(sync, key, &target, orphan).await)
        } else {
            // Nothing that the cache shows of the Endpoints alone deletes them from now on.
            self.tracker.lock().put_back(key, Orphan { listed: true, ..orphan });
            self.queue.revisit(key.clone(), ASK_AGAIN);
            Ok(Ok(()))
        }
    }

    /// The client for a lookup: nothing is left to plan.
    fn client(&self, sync: &SyncContext) -> &ApiClient {
        sync.end_planning();
        self.writer.client(sync)
    }

    fn unclear(&self, key: &ObjectKey, orphan: Orphan, error: ApiError) -> SyncError {
        self.tracker.lock().put_back(key, orphan);
        SyncError::Unclear(key.clone(), error)
    }

    /// Deletes the Endpoints of a deleted Service. A failed deletion is remembered for the retry, any other until its event:
    /// no other object of the name can have existed when the Service was deleted.
    pub(crate) async fn delete_leftover(
        &self,
        sync: &SyncContext,
        key: &ObjectKey,
        target: &Target,
        orphan: Orphan,
    ) -> Result<(), WriteError> {
        let retried = Orphan { uid: target.uid.clone(), selected: false, ..orphan };
        sync.end_planning();
        let deleted = self.writer.delete::<Endpoints>(sync, key, &target.preconditions).await;
        // Without a version, the conflict is that another object has the name.
        let is_gone = |error: &WriteError| {
            target.preconditions.resource_version.is_none() && error.source.is_conflict()
        };
        let deleted = deleted.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) });
        let mut tracker = self.tracker.lock();
        if deleted.is_err() {
            tracker.put_back(key, retried);
            return deleted;
        }
        debug!(controller = Self::NAME, key = %key, "Deleted Endpoints");
        tracker.synced(key);
        if let Some(uid) = &target.uid {
            tracker.deleted(key, uid.clone());
        }
        Ok(())
    }
}
