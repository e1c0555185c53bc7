//! A Service as the API server has it, for decisions that a cache that is behind would get wrong.

use std::collections::HashSet;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::worker::SyncContext;
use endpoint_informers::slices::{SliceController, SyncError};
use endpointslice::Urgency;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::Service;
use kube_api::{ApiClient, ApiError};
use parking_lot::Mutex;

/// The time after which the API server is asked again about a Service that the cache should show by then.
pub const ASK_AGAIN: Duration = Duration::from_secs(60);

/// The Service of this name, with whatever labels; none if there is none.
///
/// Read as a list of one, because controllers of endpoints have no permission to get Services.
///
/// # Errors
///
/// The request failed.
pub async fn stored_service(client: &ApiClient, key: &ObjectKey) -> Result<Option<Service>, ApiError> {
    let ObjectKey { namespace, name } = key;
    let path = format!("/api/v1/namespaces/{namespace}/services?fieldSelector=metadata.name={name}");
    let found: List<Service> = client.get_json(&path).await?;
    Ok(found.items.into_iter().next())
}

/// True if a stored Service has the label that gives it to another controller (KEP-4770).
pub fn is_delegated(service: &Service) -> bool {
    let labels = service.metadata.labels.as_ref();
    labels.is_some_and(|labels| labels.contains_key(ENDPOINT_CONTROLLER_NAME))
}

/// True if a stored Service has a selector.
pub fn has_selector(service: &Service) -> bool {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    selector.is_some_and(|selector| !selector.is_empty())
}

/// Services whose slices would go by what the cache showed at the start. Services are not listed again at a takeover, so that
/// the cache of them may be behind: the API server is asked before.
#[derive(Debug, Default)]
pub struct DoubtfulServices(Mutex<HashSet<ObjectKey>>);

impl DoubtfulServices {
    /// Adds Services.
    pub fn extend(&self, keys: impl IntoIterator<Item = ObjectKey>) {
        self.0.lock().extend(keys);
    }

    /// Removes a Service whose slices stay by what the cache shows, or are gone.
    pub fn remove(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }

    /// The Services.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.0.lock().iter().cloned().collect()
    }

    /// True if this is one of them, and the API server was asked about it, or is to be in the key's turn: the sync is over. If
    /// the stored Service `keeps` its slices, the cache is behind. The event of the Service queues the key, and so does time,
    /// because the Service may go before a list shows it.
    ///
    /// # Errors
    ///
    /// The request failed.
    pub async fn ask(
        &self,
        sync: &SyncContext,
        slices: &SliceController,
        key: &ObjectKey,
        keeps: impl FnOnce(&Service) -> bool + Send,
    ) -> Result<bool, SyncError> {
        if !self.0.lock().contains(key) {
            return Ok(false);
        }
        if sync.admit(Urgency::Soft.level(), 1) == 0 {
            return Ok(true);
        }
        sync.end_planning();
        let service = stored_service(slices.client(sync), key).await.map_err(SyncError::Unclear)?;
        if service.is_some_and(|service| keeps(&service)) {
            slices.queue.revisit(key.clone(), ASK_AGAIN);
        } else {
            // The writes of a sync are admitted at once.
            self.remove(key);
            slices.queue.requeue(key.clone());
        }
        Ok(true)
    }
}
