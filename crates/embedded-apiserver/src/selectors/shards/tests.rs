use super::*;
use crate::store::{Expect, Resource, Store, StoreOptions};

const FIRST_HALF: &str = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";

#[test]
fn errors_are_those_of_a_real_api_server() {
    for (selector, message) in [
        (" ", "empty shard selector is not allowed; omit the parameter for unfiltered lists"),
        ("x", "unexpected expression kind 3; expected shardRange() call or || operator"),
        ("1", "unexpected expression kind 5; expected shardRange() call or || operator"),
        ("'a'", "unexpected expression kind 5; expected shardRange() call or || operator"),
        ("a.b", "unexpected expression kind 7; expected shardRange() call or || operator"),
        ("a||b", "unexpected expression kind 3; expected shardRange() call or || operator"),
        ("!a", "unsupported function \"!_\"; only shardRange() and || are allowed"),
        ("a&&b", "unsupported function \"_&&_\"; only shardRange() and || are allowed"),
        ("[1]", "unexpected expression kind 4; expected shardRange() call or || operator"),
        ("{}", "unexpected expression kind 6; expected shardRange() call or || operator"),
        (
            "shardRange(object['x'],1,2)",
            "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 1",
        ),
        ("foo(1)", "unsupported function \"foo\"; only shardRange() and || are allowed"),
        ("shardRange(a,b)", "shardRange() requires exactly 3 arguments, got 2"),
        (
            "shardRange(object.metadata.uid,'0x0','0x8000000000000000')",
            "hexStart must be a 0x-prefixed 16-digit hex value, got \"0x0\" (did you mean \"0x0000000000000000\"?)",
        ),
        (
            "shardRange(object.metadata.name,'0x0000000000000000','0x8000000000000000')",
            "unsupported field path \"object.metadata.name\"; supported: object.metadata.uid, object.metadata.namespace",
        ),
        (
            "shardRange(object.metadata.uid,'0x8000000000000000','0x4000000000000000')",
            "shard range start 0x8000000000000000 must be less than end 0x4000000000000000",
        ),
        ("shardRange(object.metadata.uid,1,2)", "hexStart must be a string literal, got int64"),
        ("shardRange(object.metadata.uid,'0xg','0x4')", "hexStart: invalid hex character \"g\" in \"0xg\""),
        (
            "shardRange(object.metadata.uid,'0x0000000000000000','0x4000000000000000')||\
             shardRange(object.metadata.namespace,'0x0000000000000000','0x4000000000000000')",
            "all shard ranges must use the same field, got \"object.metadata.uid\" and \"object.metadata.namespace\"",
        ),
    ] {
        assert_eq!(ShardSelector::parse(selector).unwrap_err(), message, "{selector}");
    }
}

#[test]
fn nesting_is_bounded() {
    for opening in ["(", "f(", "[", "{", "!", "-", "a[", "a&&(", "a||("] {
        assert!(ShardSelector::parse(&opening.repeat(100_000)).is_err());
    }
}

#[test]
fn a_selector_is_printed_canonically() {
    for written in [
        FIRST_HALF.to_owned(),
        format!("({})", FIRST_HALF.replace('\'', "\"").replace(' ', "")),
        FIRST_HALF.replace("shardRange", "x.shardRange"),
    ] {
        assert_eq!(ShardSelector::parse(&written).unwrap().to_string(), FIRST_HALF);
    }
    let both = format!("{FIRST_HALF} || shardRange(object.metadata.uid, '0x8000000000000000', '{WHOLE}')");
    assert_eq!(ShardSelector::parse(&both).unwrap().to_string(), both);
}

#[test]
fn halves_of_the_hash_divide_the_objects() {
    let store = Store::new(1, StoreOptions::default());
    let second = format!("shardRange(object.metadata.uid, '0x8000000000000000', '{WHOLE}')");
    let halves = [FIRST_HALF, &second].map(|half| ShardSelector::parse(half).unwrap());
    let mut sizes = [0, 0];
    for index in 0..200 {
        let uid = format!("{index:03}-uid");
        let mut body = vec![0x0a, 9, 0x2a, 7];
        body.extend(uid.as_bytes());
        let object = store.put(Resource(0), &uid, Expect::Absent, &body).unwrap();
        let matches = [0, 1].map(|half: usize| halves[half].matches(&object));
        assert_ne!(matches[0], matches[1]);
        sizes[usize::from(matches[1])] += 1;
    }
    assert!(sizes[0] > 50 && sizes[1] > 50, "{sizes:?}");
    // The example of the specification of FNV.
    assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
}
