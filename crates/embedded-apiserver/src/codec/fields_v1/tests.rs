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
