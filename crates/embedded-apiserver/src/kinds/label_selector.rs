//! Label selectors of objects.

use serde_json::Value;

use super::tree;

/// True if a label selector selects the labels.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    let matches_all =
        tree::entries(selector, "matchLabels").all(|(key, value)| labels.get(key) == Some(value));
    matches_all
        && tree::list(selector, "matchExpressions").iter().all(|expression| {
            let value = labels.get(tree::text(expression, "key"));
            let is_one = value.is_some_and(|value| tree::list(expression, "values").contains(value));
            match tree::text(expression, "operator") {
                "In" => is_one,
                "NotIn" => !is_one,
                "Exists" => value.is_some(),
                _ => value.is_none(),
            }
        })
}

/// A label selector as text: `a=b,c in (d,e),!f`, by key. None if an operator is unknown.
pub(crate) fn text(selector: &Value) -> Option<String> {
    let labels = tree::entries(selector, "matchLabels");
    let mut requirements: Vec<(&str, String)> =
        labels.map(|(key, value)| (key, format!("{key}={}", value.as_str().unwrap_or_default()))).collect();
    for expression in tree::list(selector, "matchExpressions") {
        let key = tree::text(expression, "key");
        let requirement = match tree::text(expression, "operator") {
            "In" => format!("{key} in ({})", sorted_values(expression)),
            "NotIn" => format!("{key} notin ({})", sorted_values(expression)),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        };
        requirements.push((key, requirement));
    }
    requirements.sort_by_key(|(key, _)| *key);
    Some(requirements.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

fn sorted_values(expression: &Value) -> String {
    let mut values: Vec<_> = tree::list(expression, "values").iter().filter_map(Value::as_str).collect();
    values.sort_unstable();
    values.join(",")
}
