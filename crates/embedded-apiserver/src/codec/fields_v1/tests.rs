use super::*;

#[test]
fn keys_are_written_as_by_serde_json() {
    for key in [".", "f:a", "k:{\"name\":\"x\"}", "v:\"a\\\\b\"", "f:\n\u{1}", "f:é<&>"] {
        let mut out = Vec::new();
        write_key(&mut out, key);
        assert_eq!(String::from_utf8(out).unwrap(), Value::from(key).to_string());
    }
}

#[test]
fn the_short_comparison_is_that_of_the_values() {
    let keys = [
        ".",
        "f:a",
        "f:ab",
        "f:a-b",
        "k:{\"name\":\"a\"}",
        "k:{\"name\":\"a b\"}",
        "k:{\"name\":\"a!\"}",
        "k:{\"name\":\"ab\"}",
        "k:{\"ip\":\"10.0.0.1\"}",
        "k:{\"a\":\"x\",\"b\":\"y\"}",
        "k:{\"a\":\"x\",\"b\":\"ya\"}",
        "k:{\"a\":\"xa\",\"b\":\"y\"}",
        "k:{\"a\":true}",
        "k:{\"a\":false}",
        "v:\"a\"",
        "v:\"ab\"",
        "v:true",
        "v:false",
    ];
    let of = |key: &str| serde_json::from_str::<Value>(key.get(2..).unwrap_or_default()).ok();
    for a in keys {
        assert!(is_plain(a), "{a}");
        for b in keys {
            let expected = rank(a).cmp(&rank(b)).then_with(|| match (of(a), of(b)) {
                (Some(x), Some(y)) => order(&x, &y),
                _ => a.cmp(b),
            });
            let same_names = a.split('"').nth(1) == b.split('"').nth(1) || rank(a) != 2;
            assert!(!same_names || compare(a, b) == expected, "{a} {b}");
        }
    }
}

#[test]
fn keys_of_list_items_are_compared_by_value() {
    let set = serde_json::json!({
        "k:{\"port\":443,\"protocol\":\"TCP\"}": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {},
        "f:b": {"v:\"x\"": {}, "v:10": {}, "v:9": {}}, ".": {}, "f:a<b": {},
    });
    assert_eq!(
        String::from_utf8(to_vec(&set)).unwrap(),
        r#"{".":{},"f:a<b":{},"f:b":{"v:9":{},"v:10":{},"v:\"x\"":{}},"k:{\"port\":80,\"protocol\":\"TCP\"}":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{}}"#
    );
}
