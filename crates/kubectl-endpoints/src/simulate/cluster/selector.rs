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
