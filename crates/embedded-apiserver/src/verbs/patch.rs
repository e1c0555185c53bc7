//! `PATCH`: `handlers/patch.go`.

use serde_json::{Map, Value};

use super::call::{Call, Outcome};
use super::change::{Change, change};
use super::decode::{self, Expected};
use super::meta;
use super::names;
use super::options::{WriteOptions, manager};
use super::tracking;
use crate::codec::json::{self, FieldValidation};
use crate::http::content_type;
use crate::kinds::{Errors, Path, fit_namespace, tree};
use crate::patch::{self, go_text};
use crate::status::Status;

/// A way to describe a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

const PATCH_TYPES: &[(&str, PatchType)] = &[
    ("application/json-patch+json", PatchType::Json),
    ("application/merge-patch+json", PatchType::Merge),
    ("application/strategic-merge-patch+json", PatchType::Strategic),
    ("application/apply-patch+yaml", PatchType::Apply),
];

/// True if the router lets a content type pass. The rest of the header does not matter to it.
pub(crate) fn is_patch_type(content_type: &str) -> bool {
    content_type.split(',').any(|part| {
        let name = part.split(';').next().unwrap_or_default().trim_matches(' ');
        name == "*/*" || PATCH_TYPES.iter().any(|(known, _)| *known == name)
    })
}

/// Changes an object, or with server-side apply creates it.
pub(crate) fn patch(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let patch = Patch::read(call)?;
    let by = manager(&patch.options, call.headers);
    let creates = patch.kind == PatchType::Apply && target.subresource.is_empty();
    let request = Change { creates, ..call.change(&patch.options) };
    let changed = change(core, request, warnings, &mut |live, warnings| {
        let now = core.environment.now();
        let mut object = match (patch.kind, live) {
            (PatchType::Apply, live) => patch.apply(call, live, &by, now)?,
            (_, None) => return Err(Status::not_found(entry.kind.group, entry.kind.plural, &target.name)),
            (_, Some(live)) => {
                let mut object = patch.patched(entry.into(), live, warnings)?;
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

/// A patch of one kind, with its parameters.
pub(crate) struct Patch {
    kind: PatchType,
    changes: Value,
    pub(crate) options: WriteOptions,
}

impl Patch {
    /// Reads the patch of a request, before its object is looked up.
    /// Errors: 415, the parameters are refused, or the patch is not JSON.
    pub(crate) fn read(call: Call<'_>) -> Result<Self, Status> {
        let declared = content_type::declared(call.headers).split(';').next().unwrap_or_default();
        let kind = PATCH_TYPES.iter().find(|(name, _)| *name == declared).map(|(_, kind)| *kind).ok_or_else(
            || {
                let names: Vec<_> = PATCH_TYPES.iter().map(|(name, _)| *name).collect();
                content_type::unsupported(&names.join(", "))
            },
        )?;
        let applies = kind == PatchType::Apply;
        let options = WriteOptions::of_patch(call.query, applies)?;
        let invalid = if applies { "error encoding patch: no JSON" } else { "invalid JSON patch" };
        let changes = match call.body()? {
            // For the real server it is YAML, of which nothing means null.
            body if applies && body.is_empty() => Value::Null,
            body => json::parse(body).map_err(|_| Status::bad_request(invalid))?,
        };
        Ok(Self { kind, changes, options })
    }

    /// The patched view of an object, such as its scale.
    /// Errors: the patch is refused, or is one of server-side apply, which views do not support.
    pub(crate) fn patched_view(
        &self,
        of: Expected<'static>,
        live: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Status> {
        if self.kind == PatchType::Apply {
            let known: Vec<_> = PATCH_TYPES
                .iter()
                .filter(|(_, kind)| *kind != PatchType::Apply)
                .map(|(name, _)| *name)
                .collect();
            return Err(content_type::unsupported(&known.join(", ")));
        }
        self.patched(of, live, warnings)
    }

    /// The object with the patch applied, as the type has it. Unknown fields are ignored, warned of or refused.
    fn patched(
        &self,
        of: Expected<'static>,
        live: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Status> {
        // Patches may test kind and apiVersion.
        let mut patched = tree::with_head(live.clone(), of.api_version, of.kind);
        let mut changes = self.changes()?;
        match self.kind {
            PatchType::Merge => {
                let changes = std::mem::take(tree::fields_mut(&mut changes));
                patch::merge(tree::fields_mut(&mut patched), changes);
            }
            PatchType::Json => patched = patch::json(&patched, &changes)?,
            PatchType::Strategic | PatchType::Apply => {
                patched = patch::strategic(of.type_, &patched, &mut changes)?
            }
        }
        // Upstream shows the result of a merge patch, and other patches as Go prints a map.
        let refused = |error: &str| match self.kind {
            PatchType::Merge => refused(&go_text::json(&patched), error),
            _ => refused(&go_text::plain(&changes), error),
        };
        if self.kind == PatchType::Merge {
            let (api_version, kind) = (tree::text(&patched, "apiVersion"), tree::text(&patched, "kind"));
            decode::check_kind(of, api_version, kind).map_err(|error| refused(&error))?;
        }
        let (object, mut problems) = json::decode(of.type_, patched.clone(), self.options.validation)
            .map_err(|error| refused(&error.to_string()))?;
        problems.sort();
        if self.options.validation == FieldValidation::Strict && !problems.is_empty() {
            return Err(refused(&format!("strict decoding error: {}", problems.join(", "))));
        }
        warnings.append(&mut problems);
        Ok(tree::without_head(object))
    }

    /// The changes: an object, or a JSON patch, which is checked when it is applied.
    fn changes(&self) -> Result<Value, Status> {
        match (&self.changes, self.kind) {
            (Value::Object(_), _) | (_, PatchType::Json) => Ok(self.changes.clone()),
            (Value::Null, PatchType::Strategic) => Ok(Value::Object(Map::new())),
            _ => Err(Status::bad_request("the patch is not an object")),
        }
    }

    /// The object with the configuration applied to it.
    fn apply(
        &self,
        call: Call<'_>,
        live: Option<&Value>,
        by: &str,
        now: jiff::Timestamp,
    ) -> Result<Value, Status> {
        let Call { entry, target, .. } = call;
        let live = live.map(|live| tree::with_head(live.clone(), &entry.api_version, entry.kind.kind));
        let manager = tracking::manager(entry, target.subresource);
        let applied = manager.apply(live.as_ref(), &self.changes, by, self.options.force, now)?;
        let decoded = json::decode(entry.type_, applied, FieldValidation::Ignore);
        let (object, _) = decoded.map_err(|error| Status::new(500, "", error.to_string()))?;
        let mut object = tree::without_head(object);
        entry.kind.strategy.default(&mut object);
        Ok(object)
    }
}

/// 422 for a patched object that does not fit the type.
fn refused(shown: &str, error: &str) -> Status {
    let mut errors = Errors::default();
    errors.invalid(&Path::root("patch"), shown, error);
    errors.into_status("", "", "")
}
