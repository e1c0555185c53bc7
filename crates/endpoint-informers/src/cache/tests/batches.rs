//! Events while the end of a list removes unlisted objects, one batch at a time.

use super::*;

/// Follows the changes of pods, and records those of each batch.
#[derive(Default)]
struct Deletions {
    follower: Follower,
    reported: Mutex<Vec<&'static str>>,
}

impl Handler for Deletions {
    fn pod(&self, change: &Change<Pod>, state: &State, is_initial_list: bool) {
        let is_deletion = matches!(change, Change::Deleted { .. });
        self.reported.lock().push(if is_deletion { "deleted" } else { "put" });
        self.follower.pod(change, state, is_initial_list);
    }
}

/// An event between two batches.
#[derive(Clone, Debug)]
enum Between {
    Step,
    Put(&'static str),
    Delete(&'static str),
    Unreadable(&'static str),
}

const PODS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn any_pod() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&PODS[..])
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![
        3 => Just(Between::Step),
        1 => any_pod().prop_map(Between::Put),
        1 => any_pod().prop_map(Between::Delete),
        1 => any_pod().prop_map(Between::Unreadable),
    ]
}

impl Cache {
    fn put_pod(&self, name: &str, version: &str) {
        let mut pod = pod(name, &[("pod", name)], &mut self.interner.lock());
        pod.version = version.into();
        self.upsert(pod);
    }
}

fn listening() -> (Cache, Arc<Deletions>) {
    let (cache, deletions) = (Cache::default(), Arc::new(Deletions::default()));
    cache.attach(Arc::clone(&deletions) as Arc<dyn Handler>, |_| {});
    (cache, deletions)
}

proptest! {
    /// For each pod, the last event since the list began counts.
    #[test]
    fn events_between_batches_take_precedence(
        before in prop::sample::subsequence(&PODS[..], 0..=PODS.len()),
        listed in prop::sample::subsequence(&PODS[..], 0..=PODS.len()),
        between in vec(between(), 0..30),
        batch_size in 1..4_usize,
    ) {
        let (cache, deletions) = listening();
        for name in &before {
            cache.put_pod(name, "1");
        }
        cache.begin_list::<Pod>();
        for name in &listed {
            cache.put_pod(name, "2");
        }
        let mut expected: BTreeMap<&str, &Between> = BTreeMap::new();
        let mut end = cache.complete_list::<Pod>("10").in_batches_of(batch_size);
        let mut more = true;
        for (number, action) in between.iter().enumerate() {
            let version = format!("{}", 100 + number);
            match action {
                Between::Step if more => {
                    deletions.reported.lock().clear();
                    let observed = cache.read(|state| state.pods.observed());
                    more = end.step();
                    let reported = deletions.reported.lock().len();
                    prop_assert!(reported <= batch_size && (more || reported == 0), "{reported} in one step");
                    let now = if more { observed } else { 10 };
                    prop_assert_eq!(cache.read(|state| state.pods.observed()), now);
                }
                // After the end, other rules hold.
                _ if !more => break,
                Between::Step => unreachable!(),
                Between::Put(name) => {
                    cache.put_pod(name, &version);
                    expected.insert(name, action);
                }
                Between::Delete(name) => {
                    cache.remove::<Pod>("blue", name);
                    expected.insert(name, action);
                }
                Between::Unreadable(name) => {
                    cache.cannot_read::<Pod>(("blue", name));
                    // An earlier event still counts; without one, the pod stays if it is still there.
                    expected.entry(name).or_insert(action);
                }
            }
        }
        while more {
            more = end.step();
        }
        for name in PODS {
            let (shown, absent) = cache.read(|state| {
                (state.pods.get("blue", name).is_some(), state.pods.check_absent("blue", name))
            });
            match expected.get(name) {
                None => prop_assert_eq!(shown, listed.contains(&name), "{}", name),
                Some(Between::Put(_)) => prop_assert!(shown, "{name} was put"),
                Some(Between::Delete(_)) => prop_assert!(!shown, "{name} was deleted"),
                Some(_) if listed.contains(&name) => prop_assert!(shown, "{name} was listed"),
                Some(_) => prop_assert!(shown || absent.is_err(), "{name} exists"),
            }
        }
        // Nothing was reported twice: the follower asserts it.
        let shown = cache.read(|state| state.pods.iter().map(|pod| (pod.name.clone(), pod.version)).collect());
        prop_assert_eq!(&*deletions.follower.0.lock(), &shown);
    }
}

/// No hold of the lock removes more than a batch, whatever the number of objects, and the lock is free in between.
#[test]
fn a_list_ends_in_batches() {
    let (cache, deletions) = listening();
    (0..1000).for_each(|number| cache.put_pod(&number.to_string(), "1"));
    cache.begin_list::<Pod>();
    cache.put_pod("7", "2");
    deletions.reported.lock().clear();
    let mut end = cache.complete_list::<Pod>("10");
    let mut left = 1000;
    while end.step() {
        let removed = std::mem::take(&mut *deletions.reported.lock());
        assert!(removed.iter().all(|reported| *reported == "deleted") && removed.len() <= BATCH_SIZE);
        left -= removed.len();
        assert_eq!(cache.read(|state| (state.pods.len(), state.pods.observed())), (left, 0));
    }
    assert_eq!(cache.read(|state| (state.pods.len(), state.pods.observed())), (1, 10));
}

/// A list stops removing objects when another one begins, which removes the rest.
#[test]
fn a_list_that_begins_meanwhile_replaces_the_old_one() {
    let (cache, _) = listening();
    for name in PODS {
        cache.put_pod(name, "1");
    }
    cache.begin_list::<Pod>();
    let mut end = cache.complete_list::<Pod>("10").in_batches_of(3);
    assert!(end.step());
    let left = || cache.read(|state| state.pods.len());
    assert_eq!(left(), 5);
    cache.begin_list::<Pod>();
    assert!(!end.step());
    assert_eq!((left(), cache.read(|state| state.pods.observed())), (5, 0));
    cache.put_pod("a", "2");
    cache.finish_list::<Pod>("20");
    assert_eq!((left(), cache.read(|state| state.pods.observed())), (1, 20));
}
