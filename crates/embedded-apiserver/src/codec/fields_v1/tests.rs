use super::*;

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

/// A client may make keys up.
#[test]
fn keys_that_are_no_json_have_an_order_too() {
    let numbers =
        (0..40).map(|n| (format!("x:{n}{}", if n % 3 == 0 { "y" } else { "" }), serde_json::json!({})));
    let set: Value = numbers.collect::<serde_json::Map<_, _>>().into();
    let text = String::from_utf8(to_vec(&set)).unwrap();
    assert!(text.starts_with(r#"{"x:1":{},"x:2":{},"x:4":{}"#), "{text}");
    assert!(text.ends_with(r#""x:6y":{},"x:9y":{}}"#), "{text}");
}
