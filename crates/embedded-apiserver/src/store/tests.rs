pub(crate) mod example;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::*;
use example::numbered;

const PODS: Resource = Resource(0);
const NODES: Resource = Resource(1);

fn version_of(body: &[u8]) -> String {
    kube_protobuf::meta(body).unwrap().resource_version.to_owned()
}

fn all(
    store: &Store,
    resource: Resource,
    version: Option<u64>,
) -> Result<Vec<std::sync::Arc<Stored>>, ReadError> {
    let mut objects = Vec::new();
    store.visit(resource, version, Span { prefix: "", start: "" }, |object| {
        objects.push(std::sync::Arc::clone(object));
        ControlFlow::Continue(())
    })?;
    Ok(objects)
}

#[test]
fn a_write_must_fit_the_state() {
    let store = Store::new(2, StoreOptions::default());
    let put = |expect| store.put(PODS, "ns/a", expect, &numbered("a", 1));
    assert_eq!(put(Expect::Present), Err(Refused::NotFound));
    assert_eq!(put(Expect::Version(1)), Err(Refused::NotFound));
    let first = put(Expect::Absent).unwrap();
    assert_eq!((first.version(), first.namespace(), first.name()), (2, "ns", "a"));
    assert_eq!(put(Expect::Absent), Err(Refused::Exists(first.clone())));
    assert_eq!(put(Expect::Version(9)), Err(Refused::Changed(first.clone())));
    let second = put(Expect::Version(2)).unwrap();
    assert_eq!(version_of(second.body()), "3");
    assert_eq!(store.delete(PODS, "ns/a", Expect::Version(2)), Err(Refused::Changed(second)));
    let deleted = store.delete(PODS, "ns/a", Expect::Version(3)).unwrap();
    assert_eq!((deleted.version(), version_of(deleted.body())), (4, "4".to_owned()));
    assert_eq!(store.delete(PODS, "ns/a", Expect::Present), Err(Refused::NotFound));
    assert_eq!(store.version(), 4);
}

#[test]
fn keys_are_in_the_order_of_etcd() {
    let store = Store::new(1, StoreOptions::default());
    for key in ["a/x", "a-b/x", "a.b/x", "ab/x"] {
        store.put(PODS, key, Expect::Absent, &numbered("x", 0)).unwrap();
    }
    let objects = all(&store, PODS, None).unwrap();
    let keys: Vec<_> = objects.iter().map(|object| object.key()).collect();
    assert_eq!(keys, ["a-b/x", "a.b/x", "a/x", "ab/x"]);
}

#[test]
fn the_log_is_bounded_by_events_and_by_bytes() {
    let events = StoreOptions { history_events: 3, ..StoreOptions::default() };
    let bytes = StoreOptions { history_bytes: 40, ..StoreOptions::default() };
    for (options, compacted) in [(events, 8), (bytes, 8)] {
        let store = Store::new(1, options);
        store.put(PODS, "a", Expect::Absent, &numbered("a", 0)).unwrap();
        for payload in 0..9 {
            store.put(PODS, "a", Expect::Present, &numbered("a", payload)).unwrap();
        }
        assert_eq!((store.version(), store.compacted()), (11, compacted));
        let error = store.events_after(PODS, compacted - 1, 10, |_| true).unwrap_err();
        assert_eq!(error, Compacted(compacted));
    }
}

#[derive(Debug, Clone)]
enum Operation {
    Put(Resource, u8, u8),
    Delete(Resource, u8),
    Compact(u8),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let resource = prop_oneof![Just(PODS), Just(NODES)];
    let operation = prop_oneof![
        6 => (resource.clone(), 0..6u8, any::<u8>()).prop_map(|(resource, name, payload)| {
            Operation::Put(resource, name, payload & 0x7f)
        }),
        3 => (resource, 0..6u8).prop_map(|(resource, name)| Operation::Delete(resource, name)),
        1 => any::<u8>().prop_map(Operation::Compact),
    ];
    proptest::collection::vec(operation, 0..60)
}

/// The state of one version: key to version and payload, for both resources.
type State = [BTreeMap<String, (u64, u8)>; 2];

fn state_of(objects: &[std::sync::Arc<Stored>]) -> BTreeMap<String, (u64, u8)> {
    let entry = |object: &std::sync::Arc<Stored>| {
        assert_eq!(version_of(object.body()), object.version().to_string());
        (object.key().to_owned(), (object.version(), *object.body().last().unwrap()))
    };
    objects.iter().map(entry).collect()
}

/// Runs operations on the store and on full copies for each version.
fn run(operations: Vec<Operation>) -> (Store, Vec<State>, u64) {
    let store = Store::new(2, StoreOptions::default());
    let mut states: Vec<State> = vec![State::default(), State::default()];
    let mut compacted = 1;
    for operation in operations {
        let mut next = states.last().unwrap().clone();
        let version = states.len() as u64;
        match operation {
            Operation::Put(resource, name, payload) => {
                let key = format!("ns{}/{name}", name % 2);
                let expect = match next[usize::from(resource.0)].get(&key) {
                    None => Expect::Absent,
                    Some((version, _)) => Expect::Version(*version),
                };
                store.put(resource, &key, expect, &numbered("x", payload)).unwrap();
                next[usize::from(resource.0)].insert(key, (version, payload));
                states.push(next);
            }
            Operation::Delete(resource, name) => {
                let key = format!("ns{}/{name}", name % 2);
                let deleted = store.delete(resource, &key, Expect::Present);
                assert_eq!(deleted.is_ok(), next[usize::from(resource.0)].remove(&key).is_some());
                if deleted.is_ok() {
                    states.push(next);
                }
            }
            Operation::Compact(up_to) => {
                store.compact(u64::from(up_to));
                compacted = compacted.max(u64::from(up_to).min(version - 1));
            }
        }
    }
    (store, states, compacted)
}

proptest! {
    #[test]
    fn reads_at_each_version_equal_full_copies(operations in operations()) {
        let (store, states, compacted) = run(operations);
        for (version, state) in states.iter().enumerate().skip(1) {
            for resource in [PODS, NODES] {
                let read = all(&store, resource, Some(version as u64));
                if (version as u64) < compacted {
                    prop_assert_eq!(read.unwrap_err(), ReadError::Compacted(Compacted(compacted)));
                } else {
                    prop_assert_eq!(&state_of(&read.unwrap()), &state[usize::from(resource.0)]);
                }
            }
        }
        let last = states.len() as u64 - 1;
        prop_assert_eq!(all(&store, PODS, Some(last + 1)).unwrap_err(), ReadError::Future(last));
    }
}
