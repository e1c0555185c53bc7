//! The state of a key through a delay, a sync that fails, and one that succeeds.

use std::time::{Duration, Instant};

use super::super::core::{Core, Next};
use super::super::key_state::{KeyState, MAX_ERROR_BYTES, MAX_ERRORS};
use super::super::{Cause, Priority, RateLimit};

const SECOND: Duration = Duration::from_secs(1);

fn core() -> Core<u32> {
    Core::new(RateLimit { base_delay: SECOND, ..RateLimit::default() })
}

fn take(core: &mut Core<u32>, now: Instant) -> u32 {
    match core.next(false, now) {
        Next::Ready(ready) => ready.key,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_is_followed_from_its_change_to_its_write() {
    let (mut core, start) = (core(), Instant::now());
    let at = |seconds: u32| start + seconds * SECOND;
    let age = |seconds: u32| Some(seconds * SECOND);
    assert_eq!(core.key_state(&1, start), None);

    core.add_after(1, Priority::Normal, 5 * SECOND, start);
    let delayed = KeyState { delayed: age(3), unwritten: age(2), ..KeyState::default() };
    assert_eq!(core.key_state(&1, at(2)), Some(delayed));
    assert_eq!(core.len(at(5)), 1);
    let queued = KeyState { queued: age(1), unwritten: age(6), ..KeyState::default() };
    assert_eq!(core.key_state(&1, at(6)), Some(queued));

    assert_eq!(take(&mut core, at(6)), 1);
    core.add(1, Priority::Normal, at(7));
    let syncing = KeyState { syncing: age(2), queued: age(1), unwritten: age(8), ..KeyState::default() };
    assert_eq!(core.key_state(&1, at(8)), Some(syncing));
    core.retry(1, &[Cause::FAILURE], at(8));
    core.keep_error(&1, "forbidden", "no right", at(8));
    core.done(&1, at(8));
    let failed = core.key_state(&1, at(8)).unwrap();
    assert_eq!((failed.queued, failed.retry, failed.failures), (age(1), age(1), 1));
    assert_eq!(failed.unwritten, age(8), "the change goes on");
    let error = core.key_state(&1, at(10)).unwrap().error.unwrap();
    assert_eq!((error.age, error.reason, &*error.text), (2 * SECOND, "forbidden", "no right"));

    assert_eq!(take(&mut core, at(10)), 1);
    core.forget(&1, at(10));
    core.written(&1);
    core.done(&1, at(10));
    assert_eq!(core.key_state(&1, at(10)), None);
    assert!(core.is_blank());
}

#[test]
fn errors_are_bounded_in_number_and_length() {
    let (mut core, now) = (core(), Instant::now());
    let long = "é".repeat(MAX_ERROR_BYTES);
    let keys = 0..u32::try_from(MAX_ERRORS).unwrap() + 5;
    for key in keys.clone() {
        core.retry(key, &[Cause::FAILURE], now);
        core.keep_error(&key, "refused", &long, now);
        core.keep_error(&key, "refused", &long, now);
    }
    let errors = |core: &Core<u32>| {
        keys.clone().filter_map(|key| core.key_state(&key, now)?.error).collect::<Vec<_>>()
    };
    let kept = errors(&core);
    assert_eq!(kept.len(), MAX_ERRORS);
    assert!(kept.iter().all(|error| error.text.len() == MAX_ERROR_BYTES));
    core.forget(&0, now);
    core.keep_error(&0, "refused", "it did not fail", now);
    core.keep_error(&1001, "refused", "now there is room", now);
    assert_eq!(errors(&core).len(), MAX_ERRORS);
    assert_eq!(core.key_state(&1001, now).unwrap().error.unwrap().text, "now there is room");
}
