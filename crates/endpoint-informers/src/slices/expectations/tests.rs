use endpointslice::Interner;
use endpointslice::model::AddressType;
use endpointslice::plan::{AddressTypePlan, PlanStatistics};
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME};
use serde_json::{Value, json};

use super::*;
use crate::cache::{Cache, ListPhase};
use crate::resource::Resource;
use controller_kit::queue::RateLimit;

fn slice(managed_by: &str, version: &str) -> Value {
    let labels = json!({SERVICE_NAME: "web", MANAGED_BY: managed_by});
    json!({"addressType": "IPv4", "endpoints": [], "metadata": {"namespace": "shop", "name": managed_by,
        "uid": managed_by, "resourceVersion": version, "generation": 1, "labels": labels}})
}

fn metadata(slice: &Value) -> ObjectMeta {
    serde_json::from_value(slice["metadata"].clone()).unwrap()
}

fn cached(slice: &Value) -> CachedSlice {
    CachedSlice::from_json(&slice.to_string(), &mut Interner::default()).unwrap()
}

/// Our slice was written and is not in the cache yet.
fn stale_cache() -> (SliceExpectations, WorkQueue<ObjectKey>, Cache, ObjectKey) {
    let queue = WorkQueue::new(RateLimit::default());
    let slices = SliceExpectations::new("us", queue.clone(), Duration::from_secs(1));
    let (cache, key) = (Cache::default(), ObjectKey::new("shop", "web"));
    slices.written(&key, &Written::Created(&metadata(&slice("us", "5"))));
    assert_eq!(cache.read(|state| slices.read_or_wait(&key, state)).unwrap_err(), StaleCache);
    (slices, queue, cache, key)
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_waits_for_a_slice_is_requeued() {
    let (slices, queue, _, _) = stale_cache();
    slices.observe(&Change::Added(Arc::new(cached(&slice("us", "5")))));
    assert_eq!(queue.len(), 1);
    slices.observe(&Change::Added(Arc::new(cached(&slice("them", "6")))));
    assert_eq!(queue.len(), 1, "once");
}

/// Runs a list, and `during` before it completes.
fn list(slices: &SliceExpectations, cache: &Cache, during: impl FnOnce()) {
    cache.read(|state| slices.observe_list(ListPhase::Begins, state));
    during();
    cache.read(|state| slices.observe_list(ListPhase::Complete { went_back: false }, state));
}

#[tokio::test(start_paused = true)]
async fn a_complete_list_ends_the_wait_for_earlier_writes() {
    let (slices, queue, cache, key) = stale_cache();
    cache.read(|state| slices.observe_list(ListPhase::Begins, state));
    assert_eq!(
        cache.read(|state| slices.read_or_wait(&key, state)).unwrap_err(),
        StaleCache,
        "it is not complete"
    );
    assert!(queue.is_empty());
    cache.read(|state| slices.observe_list(ListPhase::Complete { went_back: false }, state));
    assert_eq!(queue.len(), 1, "at once");
    assert_eq!(cache.read(|state| slices.read_or_wait(&key, state)).unwrap().current.len(), 0);
}

/// A list that began before a write need not show it, even if lists break off and begin again.
#[tokio::test(start_paused = true)]
async fn a_complete_list_does_not_end_the_wait_for_writes_during_it() {
    let (slices, queue, cache, key) = stale_cache();
    let written = || slices.written(&key, &Written::Updated(&metadata(&slice("us", "7"))));
    list(&slices, &cache, written);
    assert_eq!(queue.len(), 1, "requeued once");
    assert_eq!(cache.read(|state| slices.read_or_wait(&key, state)).unwrap_err(), StaleCache);
    list(&slices, &cache, || cache.read(|state| slices.observe_list(ListPhase::Begins, state)));
    assert_eq!(cache.read(|state| slices.read_or_wait(&key, state)).unwrap().current.len(), 0);
}

/// A controller that starts during a list has not seen it begin, and has written nothing before it.
#[tokio::test(start_paused = true)]
async fn a_list_that_began_before_the_handler_was_attached_ends_no_wait() {
    let (slices, _, cache, key) = stale_cache();
    cache.read(|state| slices.observe_list(ListPhase::Complete { went_back: false }, state));
    assert_eq!(cache.read(|state| slices.read_or_wait(&key, state)).unwrap_err(), StaleCache);
}

/// A sync during a list may read a state from before it.
#[tokio::test(start_paused = true)]
async fn a_slice_that_a_list_shows_in_an_older_version_is_synced() {
    for during in [false, true] {
        let queue = WorkQueue::new(RateLimit::default());
        let slices = SliceExpectations::new("us", queue.clone(), Duration::ZERO);
        let (cache, key) = (Cache::default(), ObjectKey::new("shop", "web"));
        let mut newer = slice("us", "9");
        newer["metadata"]["generation"] = json!(2);
        cache.upsert(cached(&newer));
        let find =
            || assert_eq!(cache.read(|state| slices.read_or_wait(&key, state)).unwrap().current.len(), 1);
        if !during {
            find();
        }
        list(&slices, &cache, || {
            if during {
                find();
            }
            cache.upsert(cached(&slice("us", "5")));
        });
        assert_eq!(queue.len(), 1, "{during}");
        drop(queue.get().await);
        list(&slices, &cache, || ());
        assert!(queue.is_empty(), "once");
    }
}

/// Until the end of the list, the cache seemed to have seen writes that it had not.
#[tokio::test(start_paused = true)]
async fn when_versions_went_back_every_service_with_slices_is_synced() {
    for went_back in [false, true] {
        let queue = WorkQueue::new(RateLimit::default());
        let slices = SliceExpectations::new("us", queue.clone(), Duration::ZERO);
        let cache = Cache::default();
        cache.upsert(cached(&slice("us", "5")));
        cache.read(|state| {
            slices.read_or_wait(&ObjectKey::new("shop", "web"), state).unwrap();
            slices.observe_list(ListPhase::Begins, state);
            slices.observe_list(ListPhase::Complete { went_back }, state);
        });
        assert_eq!(queue.len(), usize::from(went_back));
    }
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_has_read_the_cache_no_longer_waits() {
    let (slices, queue, cache, key) = stale_cache();
    cache.observe::<CachedSlice>("5");
    assert_eq!(cache.read(|state| slices.read_or_wait(&key, state)).unwrap().current.len(), 0);
    slices.observe(&Change::Added(Arc::new(cached(&slice("them", "6")))));
    assert!(queue.is_empty(), "another controller's slice is no reason to sync");
}

/// A change that no plan would undo is no reason to sync, unless the version before it was not known.
#[tokio::test(start_paused = true)]
async fn only_a_change_that_a_plan_may_undo_causes_a_sync() {
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}]);
    let cases = [
        ("finalizers", json!(["example.com/hold"]), [false, false]),
        ("annotations", json!({"note": "A"}), [true, false]),
        ("ownerReferences", owner, [true, true]),
        ("labels", json!({SERVICE_NAME: "web", MANAGED_BY: "us", "app": "web"}), [true, true]),
        ("generation", json!(2), [true, true]),
        ("uid", json!("other"), [true, true]),
        ("deletionTimestamp", json!("2026-01-01T00:00:00Z"), [true, true]),
    ];
    for (field, value, causes_a_sync) in cases {
        for (ignores_annotations, causes_a_sync) in [false, true].into_iter().zip(causes_a_sync) {
            let queue = WorkQueue::new(RateLimit::default());
            let mut slices = SliceExpectations::new("us", queue.clone(), Duration::ZERO);
            if ignores_annotations {
                slices = slices.ignoring_annotations();
            }
            let (cache, key) = (Cache::default(), ObjectKey::new("shop", "web"));
            cache.upsert(cached(&slice("us", "5")));
            cache.read(|state| slices.read_or_wait(&key, state)).unwrap();
            let change = |from: &str, to: &str| {
                let (old, mut new) = (slice("us", from), slice("us", to));
                new["metadata"][field] = value.clone();
                slices.observe(&Change::Updated { old: Arc::new(cached(&old)), new: Arc::new(cached(&new)) });
            };
            change("5", "6");
            assert_eq!(queue.len(), usize::from(causes_a_sync), "{field}, ignored: {ignores_annotations}");
            change("7", "8");
            assert_eq!(queue.len(), 1, "{field}: version 7 was never seen");
        }
    }
}

/// A plan that is under way updates a slice without asking for its version, after another client gave it to another manager. The
/// event of that client is handled when the sync ends, and must not end the wait for the update.
#[tokio::test(start_paused = true)]
async fn a_slice_that_an_update_takes_back_is_waited_for() {
    let queue = WorkQueue::new(RateLimit::default());
    let slices = SliceExpectations::new("us", queue.clone(), Duration::ZERO);
    let (cache, key) = (Cache::default(), ObjectKey::new("shop", "web"));
    cache.upsert(cached(&slice("us", "5")));
    cache.read(|state| slices.read_or_wait(&key, state)).unwrap();
    let sync = slices.begin_sync(&key);
    let mut given = slice("us", "6");
    given["metadata"]["labels"][MANAGED_BY] = json!("them");
    cache.upsert(cached(&given));
    let change = Change::Updated { old: Arc::new(cached(&slice("us", "5"))), new: Arc::new(cached(&given)) };
    slices.observe(&change);
    slices.written(&key, &Written::Updated(&metadata(&slice("us", "7"))));
    drop(sync);
    assert_eq!(cache.read(|state| slices.read_or_wait(&key, state)).unwrap_err(), StaleCache);
    cache.upsert(cached(&slice("us", "7")));
    assert_eq!(cache.read(|state| slices.read_or_wait(&key, state)).unwrap().current.len(), 1);
}

/// An admission policy answers an update with the slice as it was. A retry does not repeat the update, until another client changes
/// the slice.
#[tokio::test(start_paused = true)]
async fn a_retry_leaves_out_the_update_that_a_policy_undoes() {
    let queue = WorkQueue::new(RateLimit::default());
    let slices = SliceExpectations::new("us", queue.clone(), Duration::ZERO);
    let (cache, key) = (Cache::default(), ObjectKey::new("shop", "web"));
    let show = |version| {
        cache.upsert(cached(&slice("us", version)));
        cache.read(|state| slices.read_or_wait(&key, state)).unwrap();
    };
    show("5");
    let update: EndpointSlice = serde_json::from_value(slice("us", "5")).unwrap();
    let plan = SlicePlan {
        types: vec![AddressTypePlan {
            address_type: AddressType::Ipv4,
            create: Vec::new(),
            update: vec![update.clone()],
            delete: Vec::new(),
            creates_suppressed: false,
            statistics: PlanStatistics::default(),
            topology: None,
            tolerated: Vec::new(),
        }],
        delete_if_unchanged: Vec::new(),
    };
    let planned = || slices.without_undone(&key, &plan).writes();
    assert!(slices.is_as_before(&key, &update.metadata));
    slices.undone.record(&key, &plan, std::slice::from_ref(&update.metadata));
    assert_eq!(planned(), 1, "no retry");
    queue.add_rate_limited(key.clone());
    assert_eq!(planned(), 0);
    // An update of another slice that is undone, too, is left out beside the first.
    let other = slice("other", "5");
    slices.undone.record(&key, &plan, std::slice::from_ref(&metadata(&other)));
    assert_eq!(planned(), 0);
    show("6");
    assert_eq!(planned(), 1);
    slices.release(&key);
    assert_eq!(slices.undone.keys(), []);
}

/// Of a plan of four writes, of which another client or a policy undoes each one.
#[test]
fn a_plan_makes_no_progress_once_it_took_more_writes_than_it_had() {
    let progress =
        |written, now| !super::Unfinished { planned: 4, written, requeues: true }.makes_no_progress(now);
    for (written, now, expected) in [
        (0, 4, true),
        (3, 1, true),
        // Changes added two.
        (4, 2, true),
        (4, 3, false),
        (5, 2, false),
        (6, 1, false),
        (700, 2, false),
    ] {
        assert_eq!(progress(written, now), expected, "{written} written, {now} left");
    }
}
