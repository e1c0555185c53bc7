//! Objects that exist and could not be read.

use super::*;

fn is_absent(cache: &Cache, name: &str) -> bool {
    cache.read(|state| state.pods.check_absent("blue", name).is_ok())
}

fn put(cache: &Cache, name: &str) {
    cache.upsert(pod(name, &[], &mut Interner::default()));
}

#[test]
fn what_could_not_be_read_is_not_absent_until_it_is_deleted_or_a_list_lacks_it() {
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
    assert_eq!(absent(), [true; 4], "it could be read, and then it was deleted");
}

#[test]
fn an_older_state_is_kept_and_its_deletion_is_one() {
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
fn without_a_name_nothing_is_absent_until_a_list_without_such_an_object() {
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

/// Names are remembered up to a bound; what is over it counts as having none.
#[test]
fn more_than_can_be_remembered_is_forgotten_by_nobody() {
    let cache = Cache::default();
    for number in 0..1024 {
        cache.cannot_read::<Pod>(("blue", number.to_string().leak()));
    }
    assert!(!is_absent(&cache, "7") && is_absent(&cache, "other"));
    cache.cannot_read::<Pod>(("blue", "one more"));
    assert!(!is_absent(&cache, "one more") && !is_absent(&cache, "other"));
}

#[test]
fn a_pod_around_is_unreadable_by_its_name_alone() {
    let cache = Cache::default();
    cache.cannot_read::<Pod>(("blue", "a"));
    cache.cannot_read::<Pod>(("", ""));
    let check = |namespace, name| {
        cache.read(|state| state.unreadable_in(namespace).unwrap().check_pod(name)).map_err(|e| e.to_string())
    };
    let message = "Pod blue/a is not in the cache and may still exist, because a Pod from the API server could not be \
                   read; leaving what depends on it as it is";
    assert_eq!(check("blue", "a"), Err(message.to_owned()));
    assert_eq!(check("green", "a"), Ok(()));
    assert_eq!(check("blue", "b"), Ok(()), "pods end every minute, and their endpoints must go");
}

/// One in our view that could not be read has not been given to another controller.
#[test]
fn a_service_that_could_not_be_read_is_not_delegated() {
    let cache = Cache::default();
    let key = ObjectKey::new("blue", "web");
    cache.upsert(DelegatedService { namespace: "blue".into(), name: "web".into(), has_selector: true });
    assert!(cache.read(|state| state.is_delegated(&key)));
    cache.cannot_read::<Service>(("blue", "web"));
    assert!(!cache.read(|state| state.is_delegated(&key)));
    cache.remove::<Service>("blue", "web");
    assert!(cache.read(|state| state.is_delegated(&key)));
}
