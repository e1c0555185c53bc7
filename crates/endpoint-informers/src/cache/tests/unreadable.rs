//! Objects that exist and could not be decoded.

use super::*;

fn is_absent(cache: &Cache, name: &str) -> bool {
    cache.read(|state| state.pods.check_absent("blue", name).is_ok())
}

fn put(cache: &Cache, name: &str) {
    cache.upsert(pod(name, &[], &mut Interner::default()));
}

#[test]
fn an_unreadable_object_exists_until_it_is_deleted_or_a_list_lacks_it() {
    let cache = Cache::default();
    cache.begin_list::<Pod>();
    cache.cannot_read::<Pod>(("blue", "a"));
    cache.cannot_read::<Pod>(("blue", "b"));
    cache.cannot_read::<Pod>(("blue", "c"));
    cache.finish_list::<Pod>("10");
    let absent = || ["a", "b", "c", "d"].map(|name| is_absent(&cache, name));
    assert_eq!(absent(), [false, false, false, true]);
    cache.remove::<Pod>("blue", "a");
    assert_eq!(absent(), [true, false, false, true]);
    // A list that breaks off changes nothing.
    cache.begin_list::<Pod>();
    cache.cannot_read::<Pod>(("blue", "c"));
    assert_eq!(absent(), [true, false, false, true]);
    cache.finish_list::<Pod>("20");
    assert_eq!(absent(), [true, true, false, true]);
    put(&cache, "c");
    cache.remove::<Pod>("blue", "c");
    assert_eq!(absent(), [true; 4], "it was decoded, and then deleted");
}

#[test]
fn an_older_state_is_kept_and_can_be_deleted() {
    let cache = Cache::default();
    put(&cache, "a");
    cache.begin_list::<Pod>();
    cache.cannot_read::<Pod>(("blue", "a"));
    cache.finish_list::<Pod>("10");
    cache.read(|state| assert!(state.pods.get("blue", "a").is_some() && !state.pods.has_unreadable()));
    cache.remove::<Pod>("blue", "a");
    assert!(is_absent(&cache, "a"));
}

#[test]
fn an_unreadable_name_makes_every_absence_uncertain_until_the_next_list() {
    let cache = Cache::default();
    for unnamed in [("", ""), ("blue", ""), ("", "a")] {
        cache.begin_list::<Pod>();
        cache.cannot_read::<Pod>(unnamed);
        cache.finish_list::<Pod>("10");
        assert!(!is_absent(&cache, "b"));
        cache.begin_list::<Pod>();
        cache.finish_list::<Pod>("20");
        assert!(is_absent(&cache, "b"));
    }
    cache.apply([Delta::<Node>::Unreadable { namespace: String::new(), name: "n".into() }], "", false);
    cache.read(|state| {
        assert!(state.nodes.check_absent("", "n").is_err() && state.nodes.check_absent("", "m").is_ok());
        let around = state.unreadable_in("blue").unwrap();
        assert!(around.check_node("n").is_err() && around.check_node("m").is_ok());
    });
}

/// Names are remembered up to a bound; further objects count as objects without a name, and protect what their namespace
/// publishes.
#[test]
fn names_beyond_the_bound_make_every_absence_uncertain() {
    let cache = Cache::default();
    for number in 0..1024 {
        cache.cannot_read::<Pod>(("blue", number.to_string().leak()));
    }
    assert!(!is_absent(&cache, "7") && is_absent(&cache, "other"));
    cache.cannot_read::<Pod>(("blue", "one more"));
    assert!(!is_absent(&cache, "one more") && !is_absent(&cache, "other"));
    let is_protected = |namespace, name| {
        cache.read(|state| state.unreadable_in(namespace).is_some_and(|it| it.check_pod(name).is_err()))
    };
    assert!(is_protected("blue", "one more") && is_protected("blue", "other"));
    assert!(!is_protected("green", "other"));

    // So do namespaces beyond the bound.
    for number in 0..1024 {
        cache.cannot_read::<Pod>((number.to_string().leak(), "a"));
    }
    assert!(is_protected("7", "other") && is_protected("green", "other"));
    cache.begin_list::<Pod>();
    cache.finish_list::<Pod>("10");
    assert!(!is_protected("blue", "other") && is_absent(&cache, "other"));
}

#[test]
fn only_a_named_pod_counts_as_unreadable() {
    let cache = Cache::default();
    cache.cannot_read::<Pod>(("blue", "a"));
    cache.cannot_read::<Pod>(("", ""));
    let check = |namespace, name| {
        cache.read(|state| state.unreadable_in(namespace).unwrap().check_pod(name)).map_err(|e| e.to_string())
    };
    let message = "Pod blue/a is not in the cache and may still exist, because a Pod from the API server could not be \
                   read; what depends on it is not changed";
    assert_eq!(check("blue", "a"), Err(message.to_owned()));
    assert_eq!(check("green", "a"), Ok(()));
    assert_eq!(check("blue", "b"), Ok(()), "pods end every minute, and their endpoints must go");
}

/// A Service of the main watch that could not be decoded has not been delegated.
#[test]
fn an_unreadable_service_is_not_delegated() {
    let cache = Cache::default();
    let key = ObjectKey::new("blue", "web");
    cache.upsert(DelegatedService { namespace: "blue".into(), name: "web".into(), has_selector: true });
    assert!(cache.read(|state| state.is_delegated(&key)));
    cache.cannot_read::<Service>(("blue", "web"));
    assert!(!cache.read(|state| state.is_delegated(&key)));
    cache.remove::<Service>("blue", "web");
    assert!(cache.read(|state| state.is_delegated(&key)));
}
