//! Label selectors, as far as manifests need them.

use cli_runtime::input::object::field;
use serde_json::Value;

/// True if an object has all these labels. Selectors without any select nothing, as those of Services.
pub(crate) fn selects(selector: Option<&Value>, object: &Value) -> bool {
    let Some(Value::Object(selector)) = selector else { return false };
    let labels = field(object, &["metadata", "labels"]);
    let has = |(key, value): (&String, &Value)| labels.and_then(|labels| labels.get(key)) == Some(value);
    !selector.is_empty() && selector.iter().all(has)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_labels_must_be_there() {
        let pod = json!({"metadata": {"labels": {"app": "web", "tier": "front"}}});
        let selected = |selector: Value| selects(Some(&selector), &pod);
        assert!(selected(json!({"app": "web"})));
        assert!(selected(json!({"app": "web", "tier": "front"})));
        assert!(!selected(json!({"app": "web", "tier": "back"})));
        assert!(!selected(json!({})));
        assert!(!selects(None, &pod));
        assert!(!selects(Some(&json!({"a": "b"})), &json!({})));
    }
}
