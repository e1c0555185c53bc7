use endpointslice::Interner;
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME};
use serde_json::{Value, json};

use super::*;
use crate::cache::Cache;
use crate::kinds::Kind;
use crate::queue::RateLimit;

fn slice(managed_by: &str, version: &str) -> Value {
    let labels = json!({SERVICE_NAME: "web", MANAGED_BY: managed_by});
    json!({"addressType": "IPv4", "endpoints": [], "metadata": {"namespace": "shop", "name": managed_by,
        "uid": managed_by, "resourceVersion": version, "generation": 1, "labels": labels}})
}

fn cached(slice: &Value) -> CachedSlice {
    CachedSlice::from_json(&slice.to_string(), &mut Interner::default()).unwrap()
}

/// Our slice was written and is not in the cache yet.
fn behind() -> (OwnSlices, WorkQueue<ObjectKey>, Cache, ObjectKey) {
    let queue = WorkQueue::new(RateLimit::endpoint_slice());
    let slices = OwnSlices::new("us", queue.clone(), Duration::from_secs(1));
    slices.written(&Written::Created(&serde_json::from_value(slice("us", "5")).unwrap()));
    let (cache, key) = (Cache::default(), ObjectKey::new("shop", "web"));
    assert_eq!(cache.read(|state| slices.read(&key, state)).unwrap_err(), StaleCache);
    (slices, queue, cache, key)
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_waits_for_a_slice_is_woken() {
    let (slices, queue, _, _) = behind();
    slices.changed(&Change::Added(Arc::new(cached(&slice("us", "5")))));
    assert_eq!(queue.len(), 1);
    slices.changed(&Change::Added(Arc::new(cached(&slice("them", "6")))));
    assert_eq!(queue.len(), 1, "once");
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_has_read_the_cache_waits_no_more() {
    let (slices, queue, cache, key) = behind();
    cache.observe::<CachedSlice>("5");
    assert_eq!(cache.read(|state| slices.read(&key, state)).unwrap().len(), 0);
    slices.changed(&Change::Added(Arc::new(cached(&slice("them", "6")))));
    assert!(queue.is_empty(), "another controller's slice is no reason to sync");
}
