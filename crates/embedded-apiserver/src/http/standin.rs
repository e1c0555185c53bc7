//! Stands in for what the codec will have.

use serde_json::Value;

use crate::codec::json::Problem;

/// YAML of a JSON text.
pub(crate) fn yaml_from_json(json: &[u8]) -> Vec<u8> {
    let tree: Value = serde_json::from_slice(json).unwrap_or_default();
    serde_yaml::to_string(&tree).unwrap_or_default().into_bytes()
}

/// JSON of a YAML text.
pub(crate) fn yaml_to_json(yaml: &[u8]) -> Result<(Vec<u8>, Vec<Problem>), String> {
    let tree: Value = serde_yaml::from_slice(yaml).map_err(|error| format!("yaml: {error}"))?;
    Ok((tree.to_string().into_bytes(), Vec::new()))
}

/// A tree of any JSON.
pub(crate) fn parse(json: &[u8]) -> Result<(Value, Vec<Problem>), String> {
    serde_json::from_slice(json).map(|tree| (tree, Vec::new())).map_err(|error| error.to_string())
}
