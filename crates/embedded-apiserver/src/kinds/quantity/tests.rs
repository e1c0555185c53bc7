use serde_json::json;

use super::nanos;

#[test]
fn quantities_have_values() {
    for (text, value) in [
        ("0", 0),
        ("1", 1_000_000_000),
        ("500m", 500_000_000),
        ("1.5", 1_500_000_000),
        (".5", 500_000_000),
        ("-2", -2_000_000_000),
        ("1k", 1_000_000_000_000),
        ("1Ki", 1_024_000_000_000),
        ("1e3", 1_000_000_000_000),
        ("100u", 100_000),
        ("1n", 1),
        ("1Gi", 1_073_741_824_000_000_000),
    ] {
        assert_eq!(nanos(&json!(text)), Some(value), "{text}");
    }
    for text in ["", "x", "1x", "1.2.3", "-", "."] {
        assert_eq!(nanos(&json!(text)), None, "{text}");
    }
    assert!(nanos(&json!("9999999999999999999999999999999999999999Ei")).is_some());
}
