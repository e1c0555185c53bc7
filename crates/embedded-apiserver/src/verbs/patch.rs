//! `PATCH`: `handlers/patch.go`.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::call::{Call, Outcome};
use super::change::{Change, change};
use super::decode::{self, Expected};
use super::meta;
use super::names;
use super::options::{WriteOptions, manager};
use super::tracking;
use crate::codec::json::{self, FieldValidation, Problem, json_type_of};
use crate::core::Entry;
use crate::http::content_type;
use crate::http::negotiate::Format;
use crate::kinds::{Errors, Path, fit_namespace, tree};
use crate::patch::{self, go_text};
use crate::status::Status;

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
///
/// # Errors
/// The request is refused.
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
    Ok(Outcome::of_change(changed))
}

/// The kind of a patch, by its content type, and its parameters.
///
/// # Errors
/// 415, the parameters are refused, or the patch has a wrong syntax.
pub(crate) fn kind_and_options(call: Call<'_>) -> Result<(Kind, WriteOptions), Status> {
    let declared = content_type::declared(call.headers).split(';').next().unwrap_or_default();
    let kind = KINDS.iter().find(|(name, _)| *name == declared).map(|(_, kind)| *kind).ok_or_else(|| {
        let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
        content_type::unsupported(&names.join(", "))
    })?;
    let options = WriteOptions::of_patch(call.query, kind == Kind::Apply)?;
    check_syntax(kind, call.body()?)?;
    Ok((kind, options))
}

/// Checks the syntax of a patch, before its object is looked up (`validateAndTranscodePatch`).
fn check_syntax(kind: Kind, body: &[u8]) -> Result<(), Status> {
    if kind == Kind::Apply && body.is_empty() {
        // For the real server it is YAML, of which nothing means null.
        return Ok(());
    }
    let invalid = if kind == Kind::Apply { "error encoding patch: no JSON" } else { "invalid JSON patch" };
    serde_json::from_slice::<IgnoredAny>(body).map(drop).map_err(|_| Status::bad_request(invalid))
}

/// The patched view of an object, such as its scale.
///
/// # Errors
/// The patch is refused, or is one of server-side apply, which views do not support.
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
        let original = self.with_head(live);
        match self.kind {
            Kind::Json | Kind::Strategic | Kind::Apply => self.of_tree(&original, warnings),
            Kind::Merge => self.merge(&original, warnings),
        }
    }

    /// The object with kind and apiVersion, which patches may test.
    fn with_head(&self, object: &Value) -> Value {
        tree::with_head(object.clone(), self.of.api_version, self.of.kind)
    }

    /// The object with a merge patch applied.
    fn merge(&self, original: &Value, warnings: &mut Vec<String>) -> Result<Value, Status> {
        let of = self.of.type_;
        let body = String::from_utf8_lossy(self.body);
        let mut problems = self.check(&body)?;
        let mut text = Vec::with_capacity(1024);
        json::encode(of, original, &mut text);
        let original = String::from_utf8_lossy(&text);
        let patched = patch::merge(&original, &body)?;
        let refused = |error: &str| refused(&patched, error);
        let head = json::head(patched.as_bytes()).map_err(|error| refused(&error.to_string()))?;
        decode::check_kind(self.of, &head.api_version, &head.kind).map_err(|error| refused(&error))?;
        let (object, more) = json::decode(of, patched.as_bytes(), self.options.validation)
            .map_err(|error| refused(&error.to_string()))?;
        problems.extend(more.iter().map(Problem::to_string));
        self.report(problems, &patched, warnings)?;
        let mut object = tree::without_head(object);
        decode::keep_reset(Format::Json, patched.as_bytes(), &mut object);
        Ok(object)
    }

    /// The object with a JSON patch or a strategic merge patch applied.
    fn of_tree(&self, original: &Value, warnings: &mut Vec<String>) -> Result<Value, Status> {
        let of = self.of.type_;
        let (patch, duplicates) = untyped(self.body).map_err(Status::bad_request)?;
        let checks = self.options.validation != FieldValidation::Ignore;
        let mut problems = if checks { duplicates } else { Vec::new() };
        let mut patch = match patch {
            Value::Null => Value::Object(Map::new()),
            Value::Object(_) => patch,
            Value::Array(_) if self.kind == Kind::Json => patch,
            other => return Err(Status::bad_request(not_an_object(&other))),
        };
        let patched = match self.kind {
            Kind::Json => patch::json(original, &patch)?,
            _ => patch::strategic(of, original, &mut patch)?,
        };
        // Upstream shows the patch, as Go prints a map.
        let shown = || go_text::plain(&patch);
        let (object, more) = json::normalise(of, &patched, self.options.validation)
            .map_err(|error| refused(&shown(), &error.to_string()))?;
        let mut more: Vec<String> = more.iter().map(Problem::to_string).collect();
        more.sort();
        problems.append(&mut more);
        self.report(problems, &shown(), warnings)?;
        let mut object = tree::without_head(object);
        meta::keep_reset(&mut object, &patched);
        Ok(object)
    }

    /// Checks that a merge patch is an object, unless unknown fields are ignored. Returns the texts about its duplicate fields.
    fn check(&self, body: &str) -> Result<Vec<String>, Status> {
        if self.options.validation == FieldValidation::Ignore {
            return Ok(Vec::new());
        }
        let wrong = |text: String| Status::bad_request(format!("error decoding patch: {text}"));
        let (patch, duplicates) = untyped(body.as_bytes()).map_err(wrong)?;
        match patch {
            Value::Object(_) | Value::Null => Ok(duplicates),
            other => Err(wrong(not_an_object(&other))),
        }
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
        let failed = |error| Status::bad_request(format!("error decoding patch: {error}"));
        let body = if self.body.is_empty() { b"null".as_slice() } else { self.body };
        let (config, _) = untyped(body).map_err(failed)?;
        let live = live.map(|live| self.with_head(live));
        let manager = tracking::manager(self.entry, self.subresource);
        let applied = manager.apply(live.as_ref(), &config, by, self.options.force, now)?;
        let normal = json::normalise(self.entry.type_, &applied, FieldValidation::Ignore);
        let (object, _) = normal.map_err(|error| Status::new(500, "", error.to_string()))?;
        let mut object = tree::without_head(object);
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

/// A tree of any JSON, and the texts about its duplicate fields.
fn untyped(body: &[u8]) -> Result<(Value, Vec<String>), String> {
    let (tree, problems) = json::untyped(body).map_err(|error| error.to_string())?;
    Ok((tree, problems.iter().map(Problem::to_string).collect()))
}
