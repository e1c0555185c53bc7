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
    let (json, problems) = to_json(b" {\"a\":1,\"a\":2}").unwrap();
    assert_eq!(String::from_utf8(json).unwrap(), r#"{"a":2}"#);
    assert_eq!(problems.len(), 1);
    assert!(to_json(b"a: b: c").unwrap_err().0.starts_with("yaml: "));
    assert!(to_json(b"[1]: 2").is_err());
}

fn json_of(body: &[u8]) -> String {
    to_json(body).map_or_else(|error| error.0, |(json, _)| String::from_utf8(json).unwrap())
}

/// The results are those of `sigs.k8s.io/yaml` 1.6.
#[test]
fn plain_scalars_have_the_types_of_yaml_1_1() {
    for (body, json) in [
        (
            "a: y\nb: 'y'\nc: \"y\"\nd: No\ne: nO\nf: é\ng: on",
            r#"{"a":true,"b":"y","c":"y","d":false,"e":"nO","f":"é","g":true}"#,
        ),
        (
            "a: 0777\nb: 1_000\nc: 1e3\nd: -0b11\ne: 0x1F\nf: 12345678901234567890\ng: 123456789012345678901\nh: 1.0",
            r#"{"a":511,"b":1000,"c":1000,"d":-3,"e":31,"f":12345678901234567890,"g":123456789012345680000,"h":1}"#,
        ),
        (
            "a: 1.5e300\nb: +1\nc: 1_0.5\nd: .5\ne: 5.\nf: 0o7",
            r#"{"a":1.5e+300,"b":1,"c":10.5,"d":0.5,"e":5,"f":7}"#,
        ),
        (
            "a: 2024-01-02T03:04:05Z\nb: 2024-01-02\nc: 1:30",
            r#"{"a":"2024-01-02T03:04:05Z","b":"2024-01-02","c":"1:30"}"#,
        ),
        ("y: n\n1.5: 2\n1e3: 3", r#"{"1.5":2,"1000":3,"true":false}"#),
        ("a: !foo y\nb: !foo 1", r#"{"a":"true","b":"1"}"#),
        ("a: 3\n<<: {a: 1}", r#"{"a":1}"#),
        ("<<: [{a: 1, b: 1}, {a: 2, c: 2}]\nb: 3", r#"{"a":1,"b":3,"c":2}"#),
        ("? a", r#"{"a":null}"#),
        ("\u{feff}a: y", r#"{"a":true}"#),
        ("{\"a\": \"y\", \"b\": 1.0, \"c\": [true]}", r#"{"a":"y","b":1,"c":[true]}"#),
        ("", "null"),
    ] {
        assert_eq!(json_of(body.as_bytes()), json, "{body}");
    }
}

#[test]
fn errors_are_those_of_go_yaml() {
    for (body, text) in [
        ("\0", "yaml: control characters are not allowed"),
        ("k8s\0\n\u{5}", "yaml: control characters are not allowed"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a: b\n c: d", "yaml: line 2: mapping values are not allowed in this context"),
        ("{a: 1", "yaml: line 1: did not find expected ',' or '}'"),
        ("a: [", "yaml: line 1: did not find expected node content"),
        ("a:\n\t- b", "yaml: line 2: found character that cannot start any token"),
        ("- a\nb: c", "yaml: line 1: did not find expected '-' indicator"),
        ("a: |\n  x\n y: 1", "yaml: line 2: did not find expected key"),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
    ] {
        assert_eq!(json_of(body.as_bytes()), text, "{body}");
    }
    assert_eq!(json_of(b"\x80"), "yaml: invalid leading UTF-8 octet");
}

#[test]
fn utf_16_is_read() {
    assert_eq!(json_of(b"\xff\xfe"), "null");
    assert_eq!(json_of(b"\xff\xfea\0:\0 \x001\0"), r#"{"a":1}"#);
    assert_eq!(json_of(b"\xfe\xff\0a\0:\0 \xd8\x3d\xde\x00"), "{\"a\":\"😀\"}");
    assert_eq!(json_of(b"\xff\xfea"), "yaml: incomplete UTF-16 character");
}

#[test]
fn deep_nesting_is_refused_at_once() {
    for open in ["{", "[", "{a: ", "[{\"a\":", "- "] {
        assert_eq!(json_of(open.repeat(100_000).as_bytes()), "yaml: exceeded max depth of 10000", "{open}");
    }
    assert_eq!(json_of(b"[[[[]]]]"), "[[[[]]]]");
}

#[test]
fn aliases_repeat_a_bounded_amount() {
    let aliases =
        |text: usize, aliases: usize| format!("a: &a {}\nb: [{}]", "x".repeat(text), "*a,".repeat(aliases));
    assert!(to_json(aliases(1_000, 1_000).as_bytes()).is_ok());
    let level = |level| format!("a{level}: &a{level} [{}]\n", format!("*a{},", level - 1).repeat(9));
    let levels = (1..9).map(level).collect::<Vec<_>>().concat();
    for body in [aliases(10_000, 1_000), format!("a0: &a0 [x]\n{levels}")] {
        assert_eq!(json_of(body.as_bytes()), "yaml: document contains excessive aliasing");
    }
}
