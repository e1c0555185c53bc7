use serde_json::{Value, json};

use super::*;
use crate::codec::testdata::objects;

#[test]
fn objects_are_written_as_by_go() {
    let mut wrong = 0;
    for object in objects().into_iter().filter(|object| !object.yaml.is_empty()) {
        let have = encode(&serde_json::from_str(&object.json).unwrap());
        if have != object.yaml {
            let differing = have.lines().zip(object.yaml.lines()).find(|(have, want)| have != want);
            println!("{}: {differing:?}", object.of.path);
            wrong += 1;
        }
    }
    assert_eq!(wrong, 0);
}

#[test]
fn what_is_written_can_be_read() {
    for object in objects().into_iter().filter(|object| !object.yaml.is_empty()) {
        let (json, problems) = to_json(object.yaml.as_bytes()).unwrap();
        let want: Value = serde_json::from_str(&object.json).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), want, "{}", object.yaml);
        assert_eq!(problems, []);
    }
}

#[test]
fn strings_that_look_like_something_else_are_quoted() {
    for text in [
        "yes",
        "Off",
        "NULL",
        "~",
        "",
        "1",
        "-0x1f",
        "0777",
        "1_000",
        "1e3",
        ".5",
        "2024-01-02",
        "1:30",
        "<<",
        ".nan",
    ] {
        assert_eq!(encode(&json!({"a": text})), format!("a: \"{text}\"\n"));
    }
    for text in ["yEs", "1.2.3", "0.5s", "10m", "1e", "-", "08:x", "2024-13-02", "a: b", "#x", "x#y"] {
        let (read, _) = to_json(encode(&json!({"a": text})).as_bytes()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&read).unwrap(), json!({"a": text}));
        assert!(!encode(&json!({"a": text})).contains('"'), "{text}");
    }
}

#[test]
fn keys_are_in_natural_order() {
    let map = json!({"a10": 1, "a9": 1, "a-b": 1, "ab": 1, "a": 1, "A": 1, "a.b": 1, "a01": 1, "a1": 1});
    let keys: Vec<_> = encode(&map).lines().map(|line| line.trim_end_matches(": 1").to_owned()).collect();
    assert_eq!(keys, ["A", "a", "a-b", "a.b", "a1", "a01", "a9", "a10", "ab"]);
}

#[test]
fn duplicate_keys_are_a_problem_with_their_line() {
    let (json, problems) = to_json(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n").unwrap();
    assert_eq!(String::from_utf8(json).unwrap(), r#"{"a":3,"b":{"c":2}}"#);
    let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "yaml: unmarshal errors:\n  line 4: key \"c\" already set in map\n  line 5: key \"a\" already set in map"
        ]
    );
}

#[test]
fn keys_become_text_and_json_passes() {
    let (json, _) = to_json(b"1: a\ntrue: b\n---\nsecond: document\n").unwrap();
    assert_eq!(String::from_utf8(json).unwrap(), r#"{"1":"a","true":"b"}"#);
    assert_eq!(to_json(b" {\"a\":1,\"a\":2}").unwrap().0, b" {\"a\":1,\"a\":2}");
    assert!(to_json(b"a: b: c").unwrap_err().0.starts_with("yaml: "));
    assert!(to_json(b"[1]: 2").is_err());
}
