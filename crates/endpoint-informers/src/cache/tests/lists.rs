//! The reports of a list to handlers, and the version of the cache after it.

use super::*;

/// Records the reports about slices.
#[derive(Default)]
struct Listener(Mutex<Vec<String>>);

impl Handler for Listener {
    fn slice(&self, change: &Change<CachedSlice>, _state: &State, _is_initial_list: bool) {
        let name = &change.latest().name;
        self.0.lock().push(match change {
            Change::Deleted { at, .. } => format!("-{name} at {}", at.unwrap_or_default()),
            _ => format!("+{name}"),
        });
    }

    fn slices_listed(&self, phase: ListPhase, state: &State) {
        self.0.lock().push(format!("{phase:?} at {} with {}", state.slices.observed(), state.slices.len()));
    }
}

fn slice() -> (Sort, Name, Object) {
    (Sort::Slice, ("blue", "a"), Object { uid: true, version: 1, labels: Labels::new() })
}

fn listening() -> (Cache, Arc<Listener>) {
    let (cache, listener) = (Cache::default(), Arc::new(Listener::default()));
    cache.attach(Arc::clone(&listener) as Arc<dyn Handler>, |_| {});
    (cache, listener)
}

#[test]
fn handlers_see_a_list_begin_before_its_first_change_and_complete_after_its_last() {
    let (cache, listener) = listening();
    let (sort, name, object) = slice();
    cache.begin_list::<CachedSlice>();
    cache.put(sort, name, &object);
    cache.begin_list::<CachedSlice>();
    cache.put(sort, name, &object);
    cache.finish_list::<CachedSlice>("10");
    cache.begin_list::<CachedSlice>();
    cache.finish_list::<CachedSlice>("20");
    cache.begin_list::<Pod>();
    cache.finish_list::<Pod>("30");
    let expected = [
        "Begins at 0 with 0",
        "+a",
        "Begins at 0 with 1",
        "Complete { went_back: false } at 10 with 1",
        "Begins at 10 with 1",
        "-a at 20",
        "Complete { went_back: false } at 20 with 0",
    ];
    assert_eq!(*listener.0.lock(), expected, "one that breaks off begins again; other kinds are not slices");
}

/// After a restore, a cache that has seen version 100 of the old history has not seen version 60 of the new one.
#[test]
fn a_list_brings_the_cache_to_its_own_version_even_if_that_is_lower() {
    let (cache, listener) = listening();
    let observed = || cache.read(|state| state.slices.observed());
    for (version, seen, complete) in [
        ("50", 50, "Complete { went_back: false } at 50 with 0"),
        ("40", 40, "Complete { went_back: true } at 40 with 0"),
        ("40", 40, "Complete { went_back: false } at 40 with 0"),
        ("not a number", 0, "Complete { went_back: false } at 0 with 0"),
    ] {
        cache.begin_list::<CachedSlice>();
        cache.finish_list::<CachedSlice>(version);
        assert_eq!((observed(), listener.0.lock().last().unwrap().as_str()), (seen, complete));
    }
    for (version, seen) in [("60", 60), ("100", 100), ("70", 100)] {
        cache.observe::<CachedSlice>(version);
        assert_eq!(observed(), seen, "between lists it only grows");
    }
}

/// A batch brings the cache to the version of its last event.
#[test]
fn a_deletion_has_its_own_version() {
    let (cache, listener) = listening();
    let (sort, name, object) = slice();
    for (version, shown) in [("12", "-a at 12"), ("opaque", "-a at 0")] {
        cache.put(sort, name, &object);
        let (namespace, name) = ("blue".to_owned(), "a".to_owned());
        let deleted = Delta::<CachedSlice>::Delete { namespace, name, resource_version: version.to_owned() };
        cache.apply([deleted], "20", false);
        assert_eq!(listener.0.lock().last().unwrap(), shown);
    }
}
