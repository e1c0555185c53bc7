//! `PATCH`: `handlers/patch.go`.

use serde_json::{Map, Value};

use super::call::{Call, Outcome};
use super::change::change;
use super::decode::{self, Expected, without_head};
use super::options::{WriteOptions, manager};
use super::{meta, names, tracking};
use crate::codec::json::{self, FieldValidation, json_type_of};
use crate::go;
use crate::http::content_type;
use crate::kinds::{Errors, Path, fit_namespace};
use crate::patch::{self, check_operations};
use crate::status::Status;
use crate::tree;

/// A way to describe a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Merge,
    Strategic,
}

const KINDS: &[(&str, Kind)] = &[
    ("application/json-patch+json", Kind::Json),
    ("application/merge-patch+json", Kind::Merge),
    ("application/strategic-merge-patch+json", Kind::Strategic),
];

/// True if the router lets a content type pass. The rest of the header does not matter to it.
pub(crate) fn is_known(content_type: &str) -> bool {
    content_type.split(',').any(|part| {
        let name = part.split(';').next().unwrap_or_default().trim_matches(' ');
        name == "*/*" || KINDS.iter().any(|(known, _)| *known == name)
    })
}

/// Changes an object.
pub(crate) fn patch(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let patch = Patch::read(call, entry.into())?;
    let by = manager(&patch.options, call.headers);
    let changed = change(core, call.change(&patch.options), warnings, &mut |live, warnings| {
        let missing = || Status::not_found(entry.kind.group, entry.kind.plural, &target.name);
        let live = live.ok_or_else(missing)?;
        let mut object = patch.patched(live, warnings)?;
        entry.kind.strategy.default(&mut object);
        let fields = tracking::manager(entry, target.subresource);
        fields.update(Some(live), &mut object, &by, core.environment.now());
        fit_namespace(entry.kind, &target.namespace, &mut object)?;
        names::check_name(&object, &target.name)?;
        Ok(object)
    })?;
    Ok(call.changed(changed))
}

/// A patch of one kind.
pub(crate) struct Patch<'a> {
    /// The patched object, or the view of it that a subresource is.
    of: Expected<'static>,
    kind: Kind,
    body: &'a [u8],
    pub(crate) options: WriteOptions,
}

impl<'a> Patch<'a> {
    /// The patch that a request has, of the kind that its content type names.
    /// Errors: 415, or the parameters are refused.
    pub(crate) fn read(call: Call<'a>, of: Expected<'static>) -> Result<Self, Status> {
        let declared = content_type::declared(call.headers).split(';').next().unwrap_or_default();
        let kind =
            KINDS.iter().find(|(name, _)| *name == declared).map(|(_, kind)| *kind).ok_or_else(|| {
                let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
                content_type::unsupported(&names.join(", "))
            })?;
        let options = WriteOptions::of_patch(call.query)?;
        let body = call.body.as_ref().map_err(Clone::clone)?;
        Ok(Self { of, kind, body, options })
    }

    /// The object with the patch applied, as the type has it.
    /// Errors: The patch is refused.
    pub(crate) fn patched(&self, live: &Value, warnings: &mut Vec<String>) -> Result<Value, Status> {
        let original = with_head(self.of, live);
        let checks = self.options.validation != FieldValidation::Ignore;
        let wrong = |error: String| {
            let is_text = checks && self.kind != Kind::Strategic;
            Status::bad_request(if is_text { format!("error decoding patch: {error}") } else { error })
        };
        let mut patch = json::parse(self.body).map_err(|error| wrong(error.to_string()))?;
        if self.kind == Kind::Json && checks {
            check_operations(&patch)?;
        }
        if self.kind == Kind::Merge && checks && !(patch.is_object() || patch.is_null()) {
            return Err(wrong(not_an_object(&patch)));
        }
        let (patched, shown) = match self.kind {
            Kind::Json => shown(patch::json_patch(&original, &patch)?),
            Kind::Merge if patch.is_object() || patch.is_array() => {
                let mut patched = original;
                patch::merge(&mut patched, &patch);
                shown(patched)
            }
            Kind::Merge => return Err(Status::bad_request("Invalid JSON Patch")),
            Kind::Strategic => {
                if patch.is_null() {
                    patch = Value::Object(Map::new());
                } else if !patch.is_object() {
                    return Err(wrong(not_an_object(&patch)));
                }
                let patched = patch::strategic(self.of.type_, &original, &mut patch)?;
                // Upstream shows the patch, as Go prints a map.
                (patched, go::plain(&patch))
            }
        };
        if self.kind != Kind::Strategic {
            let text = |field| patched.get(field).and_then(Value::as_str).unwrap_or_default();
            decode::check_kind(self.of, text("apiVersion"), text("kind"))
                .map_err(|error| refused(&shown, &error))?;
        }
        let is_reset = meta::is_reset(&patched);
        let (object, problems) = json::decode(self.of.type_, patched, self.options.validation)
            .map_err(|error| refused(&shown, &error.to_string()))?;
        if self.options.validation == FieldValidation::Strict && !problems.is_empty() {
            return Err(refused(&shown, &format!("strict decoding error: {}", problems.join(", "))));
        }
        // Without validation there are none.
        warnings.extend(problems);
        let mut object = without_head(object);
        if is_reset {
            meta::set(&mut object, "managedFields", Value::Array(Vec::new()));
        }
        Ok(object)
    }
}

/// 422 for a patched object that does not fit the type.
fn refused(shown: &str, error: &str) -> Status {
    let mut errors = Errors::default();
    errors.invalid(&Path::root("patch"), shown, error);
    errors.into_status("", "", "")
}

/// Go's words for a patch that has to be an object.
fn not_an_object(patch: &Value) -> String {
    let name = json_type_of(patch);
    format!("json: cannot unmarshal {name} into Go value of type map[string]interface {{}}")
}

/// The object with kind and apiVersion, which patches may test.
fn with_head(of: Expected<'_>, object: &Value) -> Value {
    let mut object = object.clone();
    tree::set(&mut object, "kind", of.kind);
    tree::set(&mut object, "apiVersion", of.api_version);
    object
}

/// A patched tree, and how errors show it.
fn shown(patched: Value) -> (Value, String) {
    let text = patched.to_string();
    (patched, text)
}
