//! Names in paths and bodies, and their checks.

use serde_json::Value;

use super::meta;
use crate::core::Entry;
use crate::kinds::content;
use crate::selectors::go_quote;
use crate::status::Status;
use crate::store::key;

/// The key of an object by its path (`NamespaceKeyFunc`).
/// Errors: 400 for a name that no object can have.
pub(crate) fn key_of(entry: &Entry, namespace: &str, name: &str) -> Result<String, Status> {
    if entry.kind.namespaced && namespace.is_empty() {
        return Err(Status::bad_request("Namespace parameter required."));
    }
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let wrong = content::path_segment(name, false);
    if !wrong.is_empty() {
        let name = go_quote(name);
        return Err(Status::bad_request(format!("Name parameter invalid: {name}: {}", wrong.join(";"))));
    }
    Ok(key(if entry.kind.namespaced { namespace } else { "" }, name))
}

/// Checks that the object has the name of the path.
pub(crate) fn check_name(object: &Value, name: &str) -> Result<(), Status> {
    let given = meta::text(object, "name");
    if given.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if given != name {
        return Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    Ok(())
}
