//! The cache against a model without indexes: plain maps that are scanned in full.

use std::collections::{BTreeMap, BTreeSet};

use controller_kit::key::ObjectKey;
use endpointslice::model::{LabelSet, PodFields, ResourceVersion, ServiceFields};
use endpointslice::{Node, Pod, Service};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;
use crate::kinds::{CachedSlice, DelegatedService, LastManagers, Packed, SelectedPods};

mod affected_services;
mod batches;
mod disruption;
mod lists;
mod unreadable;

const NAMESPACES: [&str; 3] = ["blue", "green", "red"];
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const KEYS: [&str; 3] = ["app", "tier", "zone"];
const VALUES: [&str; 3] = ["", "1", "2"];
const MANAGERS: [&str; 2] = ["us", "them"];

type Labels = BTreeMap<&'static str, &'static str>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Pod,
    Service,
    Slice,
}

const SORTS: [Sort; 3] = [Sort::Pod, Sort::Service, Sort::Slice];

type Name = (&'static str, &'static str);

/// An object of any kind, with the fields that the cache compares.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Object {
    /// Two objects of one name differ in it.
    uid: bool,
    version: u8,
    /// The labels of a Pod, the selector of a Service; for a slice, the choice of its Service and manager.
    labels: Labels,
}

#[derive(Clone, Debug)]
enum Action {
    Upsert(Sort, Name, Object),
    Remove(Sort, Name),
    /// A list that shows these, with unreadable objects and watch events in between.
    Relist(Sort, Vec<Listed>),
    /// A list that breaks off.
    HalfAList(Sort, Vec<Listed>),
}

#[derive(Clone, Debug)]
enum Listed {
    Object(Name, Object),
    Unreadable(Name),
    Deleted(Name),
}

fn any_name() -> impl Strategy<Value = Name> {
    let namespace = prop::sample::select(&NAMESPACES[..]);
    (namespace, prop::sample::select(&NAMES[..]))
}

fn any_labels() -> impl Strategy<Value = Labels> {
    btree_map(prop::sample::select(&KEYS[..]), prop::sample::select(&VALUES[..]), 0..4)
}

fn any_object() -> impl Strategy<Value = Object> {
    (any::<bool>(), 0..4_u8, any_labels()).prop_map(|(uid, version, labels)| Object { uid, version, labels })
}

fn any_action() -> impl Strategy<Value = Action> {
    let sort = || prop::sample::select(&SORTS[..]);
    let listed = || {
        let listed = prop_oneof![
            8 => (any_name(), any_object()).prop_map(|(name, object)| Listed::Object(name, object)),
            1 => any_name().prop_map(Listed::Unreadable),
            1 => any_name().prop_map(Listed::Deleted),
        ];
        vec(listed, 0..12)
    };
    prop_oneof![
        12 => (sort(), any_name(), any_object()).prop_map(|(sort, name, object)| Action::Upsert(sort, name, object)),
        6 => (sort(), any_name()).prop_map(|(sort, name)| Action::Remove(sort, name)),
        2 => (sort(), listed()).prop_map(|(sort, listed)| Action::Relist(sort, listed)),
        1 => (sort(), listed()).prop_map(|(sort, listed)| Action::HalfAList(sort, listed)),
    ]
}

/// A change as text: sort, name, sign, and the identities before and after.
type Line = String;

#[derive(Default)]
struct Model {
    objects: BTreeMap<(Sort, Name), Object>,
    changes: Vec<Line>,
}

fn identity(uid: &dyn std::fmt::Display, version: ResourceVersion) -> String {
    format!("{uid}@{version:?}")
}

impl Object {
    fn uid(&self) -> &'static str {
        if self.uid { "first" } else { "second" }
    }

    /// The version, which differs if the labels do.
    fn version(&self) -> String {
        format!("{} {:?}", self.version, self.labels)
    }

    fn identity(&self) -> String {
        identity(&self.uid(), ResourceVersion::from(self.version().as_str()))
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        self.labels.iter().map(|(key, value)| (*key, *value)).collect()
    }

    fn service(&self) -> &'static str {
        self.labels.get("app").copied().unwrap_or_default()
    }

    fn manager(&self) -> &'static str {
        MANAGERS[self.labels.len() % 2]
    }
}

impl Model {
    fn upsert(&mut self, sort: Sort, name: Name, object: &Object) {
        let new = object.identity();
        match self.objects.insert((sort, name), object.clone()) {
            None => self.changes.push(format!("{sort:?} {name:?} +{new}")),
            Some(old) if old.identity() == new => {}
            Some(old) => self.changes.push(format!("{sort:?} {name:?} ~{} {new}", old.identity())),
        }
    }

    fn remove(&mut self, sort: Sort, name: Name) {
        if let Some(old) = self.objects.remove(&(sort, name)) {
            self.changes.push(format!("{sort:?} {name:?} -{}", old.identity()));
        }
    }

    fn list(&mut self, sort: Sort, listed: &[Listed]) -> BTreeSet<Name> {
        let mut found = BTreeSet::new();
        for listed in listed {
            match listed {
                Listed::Object(name, object) => {
                    self.upsert(sort, *name, object);
                    found.insert(*name);
                }
                Listed::Unreadable(name) => {
                    found.insert(*name);
                }
                Listed::Deleted(name) => {
                    self.remove(sort, *name);
                    found.remove(name);
                }
            }
        }
        found
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Upsert(sort, name, object) => self.upsert(*sort, *name, object),
            Action::Remove(sort, name) => self.remove(*sort, *name),
            Action::HalfAList(sort, listed) => drop(self.list(*sort, listed)),
            Action::Relist(sort, listed) => {
                let found = self.list(*sort, listed);
                let known: Vec<Name> =
                    self.objects.keys().filter(|(s, _)| s == sort).map(|(_, n)| *n).collect();
                for gone in known.into_iter().filter(|name| !found.contains(name)) {
                    self.remove(*sort, gone);
                }
            }
        }
    }

    fn names(&self, sort: Sort, namespace: &str, keep: impl Fn(&Object) -> bool) -> BTreeSet<&'static str> {
        let objects = self.objects.iter();
        objects
            .filter(|((s, (n, _)), object)| *s == sort && *n == namespace && keep(object))
            .map(|((_, (_, name)), _)| *name)
            .collect()
    }
}

fn selects(selector: &Labels, labels: &Labels) -> bool {
    !selector.is_empty() && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// Records the changes that the cache reports, in the model's format.
#[derive(Default)]
struct Recorder(Mutex<Vec<Line>>);

impl Recorder {
    fn record<T: CachedResource>(
        &self,
        sort: Sort,
        change: &Change<T>,
        store: &Store<T>,
        show: impl Fn(&T) -> String,
    ) {
        let (object, text) = match change {
            Change::Added(new) => (new, format!("+{}", show(new))),
            Change::Updated { old, new } => (new, format!("~{} {}", show(old), show(new))),
            Change::Deleted { last: old, .. } => (old, format!("-{}", show(old))),
        };
        let shown =
            store.get(object.namespace(), object.name()).is_some_and(|shown| Arc::ptr_eq(shown, object));
        assert_eq!(shown, !matches!(change, Change::Deleted { .. }), "the cache shows {text}");
        let name = (object.namespace(), object.name());
        self.0.lock().push(format!("{sort:?} {name:?} {text}"));
    }

    /// The changes since the last call. Deletions at the end of a list are in no particular order.
    fn take(&self) -> Vec<Line> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Handler for Recorder {
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        self.record(Sort::Pod, change, &state.pods, |pod| identity(&pod.uid, pod.version));
    }

    fn service(&self, change: &Change<Service>, state: &State, _is_initial_list: bool) {
        self.record(Sort::Service, change, &state.services, |service| {
            identity(&service.uid, service.version)
        });
    }

    fn slice(&self, change: &Change<CachedSlice>, state: &State, _is_initial_list: bool) {
        self.record(Sort::Slice, change, &state.slices, |slice| identity(&slice.uid, slice.version));
    }
}

impl Cache {
    fn put(&self, sort: Sort, (namespace, name): Name, object: &Object) {
        let (uid, version) = (object.uid(), object.version());
        let mut interner = self.interner.lock();
        match sort {
            Sort::Pod => {
                let fields = PodFields {
                    namespace,
                    name,
                    uid,
                    resource_version: &version,
                    labels: object.pairs(),
                    ..PodFields::default()
                };
                let pod = Pod::new(fields, &mut interner);
                drop(interner);
                self.upsert(pod);
            }
            Sort::Service => {
                let fields = ServiceFields {
                    namespace,
                    name,
                    uid,
                    resource_version: &version,
                    selector: object.pairs(),
                    ..ServiceFields::default()
                };
                let service = Service::new(fields, &mut interner);
                drop(interner);
                self.upsert(service);
            }
            Sort::Slice => {
                let slice = CachedSlice {
                    namespace: interner.string(namespace),
                    name: name.into(),
                    uid: uid.into(),
                    version: version.as_str().into(),
                    generation: 1,
                    service: interner.non_empty(object.service()),
                    managed_by: interner.non_empty(object.manager()),
                    deleting: false,
                    last_managers: LastManagers::default(),
                    encoded: Packed::new(&[]),
                };
                drop(interner);
                self.upsert(slice);
            }
        }
    }

    /// Removes an object, if it is there, as a watch event does.
    pub(crate) fn remove<T: CachedResource>(&self, namespace: &str, name: &str) {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.apply([Delta::<T>::Delete { namespace, name, resource_version: String::new() }], "", false);
    }

    fn delete(&self, sort: Sort, (namespace, name): Name) {
        match sort {
            Sort::Pod => self.remove::<Pod>(namespace, name),
            Sort::Service => self.remove::<Service>(namespace, name),
            Sort::Slice => self.remove::<CachedSlice>(namespace, name),
        }
    }

    fn cannot_read<T: CachedResource>(&self, (namespace, name): (&str, &str)) {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.apply([Delta::<T>::Unreadable { namespace, name }], "", false);
    }

    fn list<T: CachedResource>(&self, sort: Sort, listed: &[Listed], whole: bool) {
        self.begin_list::<T>();
        for listed in listed {
            match listed {
                Listed::Object(name, object) => self.put(sort, *name, object),
                Listed::Unreadable(name) => self.cannot_read::<T>(*name),
                Listed::Deleted(name) => self.delete(sort, *name),
            }
        }
        if whole {
            self.finish_list::<T>("1");
        }
    }

    fn act(&self, action: &Action) {
        match action {
            Action::Upsert(sort, name, object) => self.put(*sort, *name, object),
            Action::Remove(sort, name) => self.delete(*sort, *name),
            Action::Relist(sort, listed) | Action::HalfAList(sort, listed) => {
                let whole = matches!(action, Action::Relist(..));
                match sort {
                    Sort::Pod => self.list::<Pod>(*sort, listed, whole),
                    Sort::Service => self.list::<Service>(*sort, listed, whole),
                    Sort::Slice => self.list::<CachedSlice>(*sort, listed, whole),
                }
            }
        }
    }
}

/// Compares the result of every query over an index with that of a scan.
fn check_indexes(cache: &Cache, model: &Model, labels: &Labels) -> Result<(), TestCaseError> {
    let set: LabelSet = labels.iter().map(|(key, value)| (*key, *value)).collect();
    cache.read(|state| {
        prop_assert_eq!(state.pods.len() + state.services.len() + state.slices.len(), model.objects.len());
        for namespace in NAMESPACES {
            let found = state.pods_selected(namespace, &set).cloned().collect::<SelectedPods>().sorted();
            let names: Vec<&str> = found.iter().map(|pod| &*pod.name).collect();
            let expected = model.names(Sort::Pod, namespace, |pod| selects(labels, &pod.labels));
            prop_assert_eq!(names, Vec::from_iter(expected), "pods selected by {:?}", labels);
            for pod in &found {
                prop_assert!(
                    state.pods.get(namespace, &pod.name).is_some_and(|shown| Arc::ptr_eq(shown, pod))
                );
            }

            let found: Vec<_> = state.services_selecting(namespace, &set).collect();
            let names: BTreeSet<&str> = found.iter().map(|service| &*service.name).collect();
            let expected = model.names(Sort::Service, namespace, |service| selects(&service.labels, labels));
            prop_assert_eq!(
                (found.len(), names),
                (expected.len(), expected),
                "Services selecting {:?}",
                labels
            );
            for service in found {
                let shown = state.services.get(namespace, &service.name);
                prop_assert!(shown.is_some_and(|shown| Arc::ptr_eq(shown, service)));
            }

            for (service, manager) in
                VALUES.iter().flat_map(|value| MANAGERS.map(|manager| (*value, manager)))
            {
                let found = state.slices_of(&namespace.into(), &service.into(), manager);
                let names: BTreeSet<&str> = found.iter().map(|slice| &*slice.name).collect();
                let expected = model.names(Sort::Slice, namespace, |slice| {
                    !service.is_empty() && (slice.service(), slice.manager()) == (service, manager)
                });
                prop_assert_eq!((found.len(), names), (expected.len(), expected), "slices of {}", service);
                for slice in &found {
                    let shown = state.slices.get(namespace, &slice.name);
                    prop_assert!(shown.is_some_and(|shown| Arc::ptr_eq(shown, slice)));
                }
            }
        }
        Ok(())
    })
}

/// Sorts deletions in a row, because those at the end of a list are in no particular order.
fn sort_deletions(mut lines: Vec<Line>) -> Vec<Line> {
    let is_deletion = |line: &Line| line.contains(") -");
    for run in lines.chunk_by_mut(|a, b| is_deletion(a) && is_deletion(b)) {
        run.sort_unstable();
    }
    lines
}

proptest! {
    #[test]
    fn indexes_and_changes_agree_with_a_scan(
        actions in vec((any_action(), any_labels()), 1..60),
    ) {
        let (cache, recorder, mut model) = (Cache::default(), Arc::new(Recorder::default()), Model::default());
        cache.attach(Arc::clone(&recorder) as Arc<dyn Handler>, |state| assert!(state.pods.is_empty()));
        for (action, labels) in &actions {
            cache.act(action);
            model.act(action);
            prop_assert_eq!(
                sort_deletions(recorder.take()),
                sort_deletions(std::mem::take(&mut model.changes)),
                "after {:?}", action
            );
            check_indexes(&cache, &model, labels)?;
        }
        for sort in SORTS {
            let nothing = Action::Relist(sort, Vec::new());
            cache.act(&nothing);
        }
        cache.read(|state| {
            prop_assert!(state.pods.is_empty() && state.services.is_empty() && state.slices.is_empty());
            prop_assert!(state.pods.index().is_empty(), "pods left in the index");
            prop_assert!(state.services.index().is_empty(), "Services left in the index");
            prop_assert!(state.slices.index().is_empty(), "slices left in the index");
            Ok(())
        })?;
    }

    /// A handler that starts from the state that `before` shows and follows the changes has the content of the cache.
    #[test]
    fn a_handler_attached_late_misses_and_repeats_nothing(
        before in vec(any_action(), 0..30),
        after in vec(any_action(), 0..30),
    ) {
        let (cache, late) = (Cache::default(), Arc::new(Recorder::default()));
        let mut model = Model::default();
        for action in &before {
            cache.act(action);
            model.act(action);
        }
        let mut seen = 0;
        cache.attach(Arc::clone(&late) as Arc<dyn Handler>, |state| {
            seen = state.pods.len() + state.services.len() + state.slices.len();
        });
        prop_assert_eq!(seen, model.objects.len());
        model.changes.clear();
        for action in &after {
            cache.act(action);
            model.act(action);
        }
        prop_assert_eq!(sort_deletions(late.take()), sort_deletions(model.changes));
    }
}

fn pod(name: &str, labels: &[(&str, &str)], interner: &mut Interner) -> Pod {
    let fields = PodFields { namespace: "blue", name, labels: labels.to_vec(), ..PodFields::default() };
    Pod::new(fields, interner)
}

/// Equal label sets are two allocations if the interner has dropped the first one; see `Interner`.
#[test]
fn equal_label_sets_need_not_be_one() {
    let cache = Cache::default();
    let labels = [("app", "web")];
    for name in ["a", "b"] {
        cache.upsert(pod(name, &labels, &mut Interner::default()));
    }
    let selector: LabelSet = labels.into_iter().collect();
    let names = || -> Vec<Box<str>> {
        cache.read(|state| {
            let found = state.pods_selected("blue", &selector).cloned().collect::<SelectedPods>();
            found.sorted().iter().map(|pod| pod.name.clone()).collect()
        })
    };
    assert_eq!(names(), ["a".into(), "b".into()]);
    let mut moved = pod("a", &labels, &mut Interner::default());
    moved.version = "2".into();
    cache.upsert(moved);
    assert_eq!(names(), ["a".into(), "b".into()]);
    for name in ["a", "b"] {
        cache.remove::<Pod>("blue", name);
    }
    cache.read(|state| assert!(state.pods.index().is_empty()));
}

/// As of a hundred thousand pods of jobs, each with a label of its own.
#[test]
fn the_interner_keeps_nothing_of_objects_that_are_gone() {
    let cache = Cache::default();
    let names: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    let mut values = Vec::new();
    for name in names.iter().map(String::as_str) {
        let pod = pod(name, &[("pod", name)], &mut cache.interner.lock());
        cache.upsert(pod);
        values.push(Arc::downgrade(&cache.interner.lock().string(name)));
    }
    for name in &names[..10_000] {
        cache.remove::<Pod>("blue", name);
    }
    let kept = || values.iter().filter(|value| value.strong_count() > 0).count();
    assert!(kept() < 15_000, "{}", kept());
    cache.begin_list::<Pod>();
    cache.finish_list::<Pod>("10");
    assert!(kept() <= 2048, "{}", kept());
}

/// A Node is written every few minutes; only a change of a cached field is reported.
#[test]
fn a_node_is_compared_by_its_cached_fields() {
    let cache = Cache::default();
    let node = |ready| endpointslice::model::NodeFields { name: "n", ready, ..Default::default() };
    let put = |ready| cache.upsert(Node::new(&node(ready), &mut Interner::default()));
    let counter = Arc::new(Nodes::default());
    cache.attach(Arc::clone(&counter) as Arc<dyn Handler>, |_| {});
    for ready in [true, true, false, false, true] {
        put(ready);
    }
    assert_eq!(*counter.0.lock(), ["added", "updated", "updated"]);
}

#[derive(Default)]
struct Nodes(Mutex<Vec<&'static str>>);

impl Handler for Nodes {
    fn node(&self, change: &Change<Node>, _state: &State, _is_initial_list: bool) {
        self.0.lock().push(match change {
            Change::Added(_) => "added",
            Change::Updated { .. } => "updated",
            Change::Deleted { .. } => "deleted",
        });
    }
}

/// Writers, a handler that is attached meanwhile, and readers run concurrently: the handler ends with the content of
/// the cache, and no reader sees the index and the table disagree.
#[test]
fn changes_and_readers_at_once() {
    let cache = Cache::default();
    let labels = [("app", "web")];
    let selector: LabelSet = labels.into_iter().collect();
    let follower = Arc::new(Follower::default());
    std::thread::scope(|scope| {
        for (writer, names) in [["a", "b", "c"], ["d", "e", "f"]].into_iter().enumerate() {
            let cache = &cache;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(writer as u64);
                for version in 0..2000 {
                    let name = names[random.usize(..names.len())];
                    if random.bool() {
                        let version = version.to_string();
                        let mut fresh = pod(name, &labels, &mut cache.interner.lock());
                        fresh.version = version.as_str().into();
                        cache.upsert(fresh);
                    } else {
                        cache.remove::<Pod>("blue", name);
                    }
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..2000 {
                cache.read(|state| {
                    assert_eq!(state.pods.len(), state.pods_selected("blue", &selector).count());
                });
            }
        });
        scope.spawn(|| {
            cache.attach(Arc::clone(&follower) as Arc<dyn Handler>, |state| {
                let names = state.pods.iter().map(|pod| (pod.name.clone(), pod.version));
                *follower.0.lock() = names.collect();
            });
        });
    });
    let shown = cache.read(|state| state.pods.iter().map(|pod| (pod.name.clone(), pod.version)).collect());
    assert_eq!(*follower.0.lock(), shown);
}

#[derive(Default)]
struct Follower(Mutex<BTreeMap<Box<str>, ResourceVersion>>);

impl Handler for Follower {
    fn pod(&self, change: &Change<Pod>, _state: &State, _is_initial_list: bool) {
        let mut pods = self.0.lock();
        match change {
            Change::Added(pod) => assert_eq!(pods.insert(pod.name.clone(), pod.version), None),
            Change::Updated { old, new } => {
                assert_eq!(pods.insert(new.name.clone(), new.version), Some(old.version));
            }
            Change::Deleted { last: pod, .. } => assert_eq!(pods.remove(&pod.name), Some(pod.version)),
        }
    }
}

/// Every hold is counted once, after the lock is free; a list that ends in one step holds it twice, to look and to end.
#[test]
fn holds_of_the_lock_are_counted_by_access() {
    let cache = Cache::default();
    let mut registry = Registry::default();
    cache.register_metrics(&mut registry);
    let counts = || {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        ["read", "write"].map(|access| {
            let line = format!("cache_lock_hold_seconds_count{{access=\"{access}\"}} ");
            text.lines().find_map(|it| it.strip_prefix(&line)).unwrap().parse::<u64>().unwrap()
        })
    };
    assert_eq!(counts(), [0, 0], "series without holds are shown");
    cache.read(|state| assert_eq!((state.pods.len(), counts()), (0, [0, 0]), "the hold has not ended"));
    assert_eq!(counts(), [1, 0]);
    cache.upsert(pod("a", &[], &mut Interner::default()));
    assert_eq!(counts(), [1, 1]);
    cache.finish_list::<Pod>("7");
    assert_eq!(counts(), [2, 2]);
}
