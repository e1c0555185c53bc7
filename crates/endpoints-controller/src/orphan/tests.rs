use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn deleted_at(version: Option<u64>, uid: Option<&str>) -> Orphan {
    let deletion = Deletion { version, seen: Instant::now() };
    Orphan { uid: uid.map(Into::into), deletion: Some(deletion), ..Orphan::default() }
}

/// The verdict on an object `shown` of a Service that was deleted at version 10, some time later, if the cache shows
/// every change up to `observed`.
fn verdict(uid: Option<&str>, shown: Option<(&str, u64)>, observed: Option<u64>, later: Duration) -> Verdict {
    let orphan = deleted_at(Some(10), uid);
    let shown = shown.map(|(uid, version)| (Uid::from(uid), ResourceVersion::from(&*version.to_string())));
    let shown = shown.as_ref().map(|(uid, version)| (uid, *version));
    orphan.verdict(shown, false, observed, Instant::now() + later)
}

#[test]
fn what_existed_is_deleted_and_what_came_later_is_not() {
    let now = Duration::ZERO;
    assert_eq!(verdict(Some("a"), Some(("a", 9)), Some(9), now), Verdict::Delete, "what was there");
    assert_eq!(
        verdict(Some("a"), Some(("a", 12)), Some(12), now),
        Verdict::Delete,
        "although it was changed"
    );
    assert_eq!(verdict(None, Some(("a", 10)), Some(10), now), Verdict::Delete, "what the cache shows late");
    assert_eq!(verdict(None, Some(("a", 12)), Some(12), now), Verdict::Ask, "created or changed later");
    assert_eq!(verdict(Some("a"), Some(("b", 12)), Some(12), now), Verdict::Ask, "replaced before or later");
    assert_eq!(verdict(None, Some(("a", 9)), None, now), Verdict::Ask, "of another history");
    assert_eq!(verdict(None, None, Some(10), now), Verdict::Leave, "there was nothing");
    assert_eq!(verdict(Some("a"), None, Some(12), now), Verdict::Leave, "it is gone");
}

#[test]
fn a_late_cache_is_waited_for_and_then_the_server_is_asked() {
    for (uid, shown) in [(None, None), (Some("a"), Some(("a", 8)))] {
        assert_eq!(verdict(uid, shown, Some(9), PATIENCE), Verdict::Ask);
        assert_ne!(verdict(uid, shown, Some(10), PATIENCE), Verdict::Ask, "in time");
    }
    let rest = |later| match verdict(None, None, Some(9), later) {
        Verdict::Wait(rest) => rest,
        other => panic!("{other:?}"),
    };
    assert!(rest(SECOND) < PATIENCE && rest(SECOND) + 2 * SECOND > PATIENCE);
}

#[test]
fn without_an_order_the_first_object_of_the_name_is_deleted() {
    let (orphan, uid) = (deleted_at(None, None), Uid::from("a"));
    let now = Instant::now();
    let shown = Some((&uid, "opaque".into()));
    assert_eq!(orphan.verdict(shown, false, Some(9), now), Verdict::Delete);
    assert!(matches!(orphan.verdict(None, false, Some(9), now), Verdict::Wait(_)));
    assert_eq!(orphan.verdict(None, false, Some(9), now + PATIENCE), Verdict::Ask);
}

#[test]
fn without_a_deletion_only_the_recorded_object_or_ours_is_deleted() {
    let orphan = Orphan { uid: Some("a".into()), ..Orphan::default() };
    let decide = |uid: &str, is_created_here| {
        orphan.verdict(Some((&uid.into(), "12".into())), is_created_here, Some(12), Instant::now())
    };
    assert_eq!(decide("a", false), Verdict::Delete);
    assert_eq!(decide("b", false), Verdict::Leave);
    assert_eq!(decide("b", true), Verdict::Delete);
}
