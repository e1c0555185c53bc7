//! `PATCH`: `handlers/patch.go`.

use serde_json::{Map, Value};

use super::call::{Call, Outcome};
use super::change::{Change, change};
use super::decode::{self, Expected, without_head};
use super::options::{WriteOptions, manager};
use super::{meta, names, tracking};
use crate::codec::json::{self, FieldValidation, json_type_of};
use crate::core::Entry;
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
    Apply,
}

const KINDS: &[(&str, Kind)] = &[
    ("application/json-patch+json", Kind::Json),
    ("application/merge-patch+json", Kind::Merge),
    ("application/strategic-merge-patch+json", Kind::Strategic),
    ("application/apply-patch+yaml", Kind::Apply),
];

/// True if the router lets a content type pass. The rest of the header does not matter to it.
pub(crate) fn is_known(content_type: &str) -> bool {
    content_type.split(',').any(|part| {
        let name = part.split(';').next().unwrap_or_default().trim_matches(' ');
        name == "*/*" || KINDS.iter().any(|(known, _)| *known == name)
    })
}

/// Changes an object, or with server-side apply creates it.
pub(crate) fn patch(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let (kind, options) = kind_and_options(call)?;
    let body = call.body()?;
    let by = manager(&options, call.headers);
    let request =
        Change { creates: kind == Kind::Apply && target.subresource.is_empty(), ..call.change(&options) };
    let patch =
        Patch { entry, of: entry.into(), subresource: target.subresource, kind, body, options: &options };
    let changed = change(core, request, warnings, &mut |live, warnings| {
        let now = core.environment.now();
        let mut object = match (kind, live) {
            (Kind::Apply, live) => patch.apply(live, &by, now)?,
            (_, None) => return Err(Status::not_found(entry.kind.group, entry.kind.plural, &target.name)),
            (_, Some(live)) => {
                let mut object = patch.patched(live, warnings)?;
                entry.kind.strategy.default(&mut object);
                tracking::manager(entry, target.subresource).update(Some(live), &mut object, &by, now);
                object
            }
        };
        if live.is_none() && !meta::text(&object, "uid").is_empty() {
            let cause = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                meta::text(&object, "uid")
            );
            return Err(Status::conflict(entry.kind.group, entry.kind.plural, &target.name, &cause));
        }
        fit_namespace(entry.kind, &target.namespace, &mut object)?;
        names::check_name(&object, &target.name)?;
        Ok(object)
    })?;
    Ok(call.changed(changed))
}

/// The kind of a patch, by its content type, and its parameters.
/// Errors: 415, or the parameters are refused.
pub(crate) fn kind_and_options(call: Call<'_>) -> Result<(Kind, WriteOptions), Status> {
    let declared = content_type::declared(call.headers).split(';').next().unwrap_or_default();
    let kind = KINDS.iter().find(|(name, _)| *name == declared).map(|(_, kind)| *kind).ok_or_else(|| {
        let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
        content_type::unsupported(&names.join(", "))
    })?;
    Ok((kind, WriteOptions::of_patch(call.query, kind == Kind::Apply)?))
}

/// The patched view of an object, such as its scale.
/// Errors: The patch is refused, or is one of server-side apply, which views do not support.
pub(crate) fn patched(
    call: Call<'_>,
    kind: Kind,
    options: &WriteOptions,
    of: Expected<'static>,
    live: &Value,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    if kind == Kind::Apply {
        let known: Vec<_> =
            KINDS.iter().filter(|(_, kind)| *kind != Kind::Apply).map(|(name, _)| *name).collect();
        return Err(content_type::unsupported(&known.join(", ")));
    }
    let (entry, subresource) = (call.entry, call.target.subresource);
    Patch { entry, of, subresource, kind, body: call.body()?, options }.patched(live, warnings)
}

/// A patch of one kind.
struct Patch<'a> {
    entry: &'static Entry,
    /// The patched object, or the view of it that a subresource is.
    of: Expected<'static>,
    subresource: &'static str,
    kind: Kind,
    body: &'a [u8],
    options: &'a WriteOptions,
}

impl Patch<'_> {
    /// The object with the patch applied, as the type has it.
    fn patched(&self, live: &Value, warnings: &mut Vec<String>) -> Result<Value, Status> {
        let original = with_head(self.of, live);
        let checks = self.options.validation != FieldValidation::Ignore;
        let wrong = |error: String| {
            let is_text = checks && self.kind != Kind::Strategic;
            Status::bad_request(if is_text { format!("error decoding patch: {error}") } else { error })
        };
        let mut patch = json::parse(self.body).map_err(|error| wrong(error.to_string()))?;
        let is_checked = checks && self.kind == Kind::Json;
        let mut problems = if is_checked { check_operations(&patch)? } else { Vec::new() };
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
            Kind::Strategic | Kind::Apply => {
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
        let (object, mut more) = json::decode(self.of.type_, patched, self.options.validation)
            .map_err(|error| refused(&shown, &error.to_string()))?;
        problems.append(&mut more);
        self.report(problems, &shown, warnings)?;
        let mut object = without_head(object);
        if is_reset {
            meta::set(&mut object, "managedFields", Value::Array(Vec::new()));
        }
        Ok(object)
    }

    /// Does with unknown and duplicate fields what the request asks for: nothing, warnings or an error.
    fn report(
        &self,
        mut problems: Vec<String>,
        shown: &str,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        match self.options.validation {
            FieldValidation::Strict if !problems.is_empty() => {
                return Err(refused(shown, &format!("strict decoding error: {}", problems.join(", "))));
            }
            FieldValidation::Ignore => {}
            _ => warnings.append(&mut problems),
        }
        Ok(())
    }

    /// The object with the configuration applied to it.
    fn apply(&self, live: Option<&Value>, by: &str, now: jiff::Timestamp) -> Result<Value, Status> {
        let failed = |error: String| Status::bad_request(format!("error decoding YAML: {error}"));
        let config = json::parse(self.body).map_err(|error| failed(error.to_string()))?;
        let live = live.map(|live| with_head(self.of, live));
        let manager = tracking::manager(self.entry, self.subresource);
        let applied = manager.apply(live.as_ref(), &config, by, self.options.force, now)?;
        let normal = json::decode(self.entry.type_, applied, FieldValidation::Ignore);
        let (object, _) = normal.map_err(|error| Status::new(500, "", error.to_string()))?;
        let mut object = without_head(object);
        self.entry.kind.strategy.default(&mut object);
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
