//! `ValidateVolumes`, as far as names and the number of sources go.

use serde_json::Value;

use crate::kinds::checks;
use crate::kinds::field::{Errors, Path};
use crate::kinds::tree;

/// Checks the volumes. Returns the names of the valid ones.
pub(super) fn validate<'a>(spec: &'a Value, path: &Path<'_>, errors: &mut Errors) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (index, volume) in tree::list(spec, "volumes").iter().enumerate() {
        let path = path.index(index);
        let mut own = Errors::default();
        let sources = volume
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, value)| *key != "name" && !value.is_null());
        for (key, _) in sources.skip(1) {
            own.forbidden(&path.child(key), "may not specify more than 1 volume type");
        }
        validate_source(volume, &path, &mut own);
        let name = tree::text(volume, "name");
        if name.is_empty() {
            own.required(&path.child("name"), "");
        } else {
            checks::label(name, &path.child("name"), &mut own);
        }
        if names.contains(&name) {
            own.duplicate(&path.child("name"), name);
        }
        if own.is_empty() {
            names.push(name);
        }
        errors.extend(own);
    }
    names
}

/// Names that a source must give.
const REQUIRED: [(&str, &str); 4] = [
    ("secret", "secretName"),
    ("configMap", "name"),
    ("persistentVolumeClaim", "claimName"),
    ("hostPath", "path"),
];

fn validate_source(volume: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (source, key) in REQUIRED {
        if tree::has(volume, source) && tree::text(tree::field(volume, source), key).is_empty() {
            let path = path.child(source);
            errors.required(&path.child(key), "");
        }
    }
}
