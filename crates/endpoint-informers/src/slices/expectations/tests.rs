use std::collections::BTreeSet;

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

/// Expectations of slices, and the queue, cache and key that they are of.
fn expecting() -> (SliceExpectations, WorkQueue<ObjectKey>, Cache, ObjectKey) {
    let queue = WorkQueue::new(RateLimit::default());
    let slices = SliceExpectations::new("us", queue.clone(), Duration::ZERO);
    (slices, queue, Cache::default(), ObjectKey::new("shop", "web"))
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
        let (slices, queue, cache, key) = expecting();
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
        let (slices, queue, cache, key) = expecting();
        cache.upsert(cached(&slice("us", "5")));
        cache.read(|state| {
            slices.read_or_wait(&key, state).unwrap();
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
    assert!(queue.is_empty(), "another controller's slice is not a reason to sync");
}

/// A change that no plan would undo is not a reason to sync, unless the version before it was not known.
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
    let (slices, _, cache, key) = expecting();
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

/// A sync waits for the API server, and another client changes a slice all the time.
#[tokio::test(start_paused = true)]
async fn changes_during_a_long_sync_do_not_pile_up() {
    let (slices, queue, _, key) = expecting();
    let edited = |version: u64| {
        let mut slice = slice("us", &version.to_string());
        slice["metadata"]["managedFields"] =
            json!([{"manager": "them", "operation": "Update", "time": "2026-01-01T00:00:00Z"}]);
        Arc::new(cached(&slice))
    };
    let sync = slices.begin_sync(&key);
    let (mut shown, mut versions) = (edited(1), Vec::new());
    for version in 2..=10_000 {
        let new = edited(version);
        versions.push(Arc::downgrade(&new));
        let old = std::mem::replace(&mut shown, Arc::clone(&new));
        slices.observe(&Change::Updated { old, new });
    }
    let kept = versions.iter().filter(|version| version.strong_count() > 0).count();
    assert!(kept < 200, "{kept} versions are kept");
    drop(sync);
    assert_eq!((slices.repairs().foreign_writes().get(), queue.len()), (9_999, 1), "each is counted");
}

/// A client goes on creating slices with the controller's label. It deletes some itself, after it has given them away.
#[tokio::test(start_paused = true)]
async fn slices_of_other_clients_that_are_deleted_are_forgotten() {
    let (slices, _, _, key) = expecting();
    for number in 0..1_000 {
        let mut theirs = slice("us", "5");
        theirs["metadata"]["uid"] = json!(number.to_string());
        let shown = Arc::new(cached(&theirs));
        slices.observe(&Change::Added(Arc::clone(&shown)));
        let last = if number % 2 == 0 {
            slices.written(&key, &Written::Deleted(&metadata(&theirs)));
            shown
        } else {
            theirs["metadata"]["labels"][MANAGED_BY] = json!("them");
            let given = Arc::new(cached(&theirs));
            slices.observe(&Change::Updated { old: shown, new: Arc::clone(&given) });
            given
        };
        assert!(slices.repairs().known(&key) > 0, "a change of it would be the second");
        slices.observe(&Change::Deleted { last, at: None });
        assert!(slices.repairs().known(&key) < 10);
    }
}

/// A plan with this update alone.
fn updating(slice: EndpointSlice) -> SlicePlan {
    let types = vec![AddressTypePlan {
        address_type: AddressType::Ipv4,
        create: Vec::new(),
        update: vec![slice],
        delete: Vec::new(),
        withdrawals: BTreeSet::new(),
        creates_suppressed: false,
        statistics: PlanStatistics::default(),
        topology: None,
        tolerated: Vec::new(),
    }];
    SlicePlan { types, delete_if_unchanged: Vec::new() }
}

/// An admission policy answers an update with the slice as it was. A retry does not repeat the update, until another client changes
/// the slice.
#[tokio::test(start_paused = true)]
async fn a_retry_leaves_out_the_update_that_a_policy_undoes() {
    let (slices, queue, cache, key) = expecting();
    let show = |version| {
        cache.upsert(cached(&slice("us", version)));
        cache.read(|state| slices.read_or_wait(&key, state)).unwrap();
    };
    show("5");
    let update: EndpointSlice = serde_json::from_value(slice("us", "5")).unwrap();
    let plan = updating(update.clone());
    let planned = || slices.without_undone(&key, &plan).writes();
    assert!(slices.is_as_before(&key, &update.metadata));
    slices.undone.record(&key, &plan, std::slice::from_ref(&update.metadata));
    assert_eq!(planned(), 1, "no retry");
    queue.add_rate_limited(key.clone());
    assert_eq!(planned(), 0);
    // An update of another slice that is undone, too, is left out as well as the first.
    let other = slice("other", "5");
    slices.undone.record(&key, &plan, std::slice::from_ref(&metadata(&other)));
    assert_eq!(planned(), 0);
    show("6");
    assert_eq!(planned(), 1);
    slices.release(&key);
    assert_eq!(slices.undone.keys(), []);
}

/// Whatever another client does as soon as it sees an update: a plan ends. The update of a slice may have no uid.
#[tokio::test(start_paused = true)]
async fn a_plan_makes_an_update_at_most_twice() {
    let (slices, queue, _, key) = expecting();
    let mut update: EndpointSlice = serde_json::from_value(slice("us", "5")).unwrap();
    update.metadata.uid = None;
    let rest = |update: &EndpointSlice| slices.rest_of(&key, Cow::Owned(updating(update.clone()))).writes();
    let made = |update: &EndpointSlice, unfinished| {
        let applied = Applied { unfinished, ..Applied::default() };
        slices.keep_unfinished(&key, &updating(update.clone()), &applied, &["us".to_owned()]);
    };
    let edit = |from, to| {
        let (old, new) = (cached(&slice("us", from)), cached(&slice("us", to)));
        slices.observe(&Change::Updated { old: Arc::new(old), new: Arc::new(new) });
    };
    assert_eq!(rest(&update), 1);
    made(&update, true);
    assert_eq!(rest(&update), 0);
    update.metadata.labels.get_or_insert_default().insert("app".into(), "web".into());
    assert_eq!(rest(&update), 1, "another one");
    made(&update, true);
    edit("5", "6");
    assert_eq!(rest(&update), 1);
    made(&update, true);
    edit("7", "8");
    assert_eq!(rest(&update), 0);
    drop(queue.get().await);
    made(&update, false);
    assert_eq!(queue.len(), 1, "the next plan repairs it");
    assert_eq!(rest(&update), 1);
}

/// Their owner is another object of the same name.
#[test]
fn an_update_that_gives_slices_to_another_owner_is_another_one() {
    let slices = SliceExpectations::new("us", WorkQueue::new(RateLimit::default()), Duration::ZERO);
    let key = ObjectKey::new("shop", "web");
    let of_owner = |uid: &str| -> EndpointSlice {
        let mut slice = slice("us", "5");
        slice["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Endpoints", "name": "web", "uid": uid, "controller": true}]);
        serde_json::from_value(slice).unwrap()
    };
    let applied = Applied { unfinished: true, ..Applied::default() };
    slices.keep_unfinished(&key, &updating(of_owner("old")), &applied, &["us".to_owned()]);
    for (owner, writes) in [("old", 0), ("new", 1)] {
        assert_eq!(slices.rest_of(&key, Cow::Owned(updating(of_owner(owner)))).writes(), writes, "{owner}");
    }
}
