//! Optional fields of API objects as borrowed text.

use std::collections::BTreeMap;

/// The text of an optional string: in Kubernetes' types, absent and empty mean the same.
pub(crate) fn text(value: Option<&String>) -> &str {
    value.map_or("", String::as_str)
}

/// Labels or annotations as borrowed pairs, in key order.
pub(super) fn pairs(map: Option<&BTreeMap<String, String>>) -> Vec<(&str, &str)> {
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}
