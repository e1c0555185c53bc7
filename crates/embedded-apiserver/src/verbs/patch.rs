//! `PATCH`: `handlers/patch.go`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::call::{Call, Content, Outcome};
use super::change::{Change, change};
use super::meta;
use super::names;
use super::options::{WriteOptions, manager};
use super::tracking;
use crate::codec::json::{self, FieldValidation, Problem};
use crate::core::Entry;
use crate::http::content_type;
use crate::http::standin;
use crate::kinds::{Errors, Path};
use crate::patch::{self, go_text};
use crate::status::Status;

/// A way to describe a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
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

/// Whether the router lets a content type pass. The rest of the header does not matter to it.
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
pub(crate) fn patch(call: Call<'_>) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let declared = content_type::declared(call.headers).split(';').next().unwrap_or_default();
    let kind = KINDS.iter().find(|(name, _)| *name == declared).map(|(_, kind)| *kind).ok_or_else(|| {
        let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
        content_type::unsupported(&names.join(", "))
    })?;
    let body = call.body()?;
    let options = WriteOptions::of_patch(call.query, kind == Kind::Apply)?;
    let by = manager(&options, call.headers);
    let request = Change {
        entry,
        namespace: &target.namespace,
        name: &target.name,
        subresource: target.subresource,
        dry_run: options.dry_run,
        creates: kind == Kind::Apply && target.subresource.is_empty(),
        uid: "",
    };
    let patch = Patch { entry, subresource: target.subresource, kind, body, options: &options };
    let changed = change(core, request, &mut |live, warnings| {
        let now = core.environment.now();
        let mut object = match (kind, live) {
            (Kind::Apply, live) => patch.apply(live, &by, now, warnings)?,
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
        names::fit_namespace(entry, &target.namespace, &mut object)?;
        names::check_name(&object, &target.name)?;
        Ok(object)
    })?;
    let code = if changed.created { 201 } else { 200 };
    Ok(Outcome::new(code, Content::Stored(changed.body), changed.warnings))
}

/// A patch of one kind.
struct Patch<'a> {
    entry: &'static Entry,
    subresource: &'static str,
    kind: Kind,
    body: &'a [u8],
    options: &'a WriteOptions,
}

impl Patch<'_> {
    /// The object with the patch applied, as the type has it.
    fn patched(&self, live: &Value, warnings: &mut Vec<String>) -> Result<Value, Status> {
        let of = self.entry.type_;
        let original = with_head(self.entry, live);
        let (patch, mut problems) = self.parse()?;
        let patched = match self.kind {
            Kind::Json => patch::json_patch(&original, &patch)?,
            Kind::Merge => patch::merge(&original, &patch)?,
            Kind::Strategic | Kind::Apply => patch::strategic(of, &original, &patch)?,
        };
        // Upstream shows the patched object as JSON, and a strategic patch as Go prints a map.
        let shown = |text: &str| {
            let shown: Cow<'_, str> = match self.kind {
                Kind::Strategic => go_text::plain(&patch).into(),
                _ => patched.to_string().into(),
            };
            let mut errors = Errors::default();
            errors.invalid(&Path::root("patch"), &*shown, text);
            errors.into_status("", "", "")
        };
        let (object, more) = json::normalise(of, &patched, self.options.validation)
            .map_err(|error| shown(&error.to_string()))?;
        problems.extend(more.iter().map(Problem::to_string));
        match self.options.validation {
            FieldValidation::Strict if !problems.is_empty() => {
                return Err(shown(&format!("strict decoding error: {}", problems.join(", "))));
            }
            FieldValidation::Ignore => {}
            _ => warnings.append(&mut problems),
        }
        Ok(without_head(object))
    }

    /// The patch as a tree, and the texts about its unknown and duplicate fields.
    fn parse(&self) -> Result<(Value, Vec<String>), Status> {
        let checks = self.options.validation != FieldValidation::Ignore;
        let parsed = standin::parse(self.body);
        let prefix = if checks && self.kind != Kind::Strategic { "error decoding patch: " } else { "" };
        let (patch, duplicates) = parsed.map_err(|error| Status::bad_request(format!("{prefix}{error}")))?;
        let mut problems = Vec::new();
        if checks && self.kind == Kind::Json {
            problems = patch::check_operations(&patch)?;
        } else if checks {
            problems = duplicates.iter().map(Problem::to_string).collect();
        }
        Ok((patch, problems))
    }

    /// The object with the configuration applied to it.
    fn apply(
        &self,
        live: Option<&Value>,
        by: &str,
        now: jiff::Timestamp,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Status> {
        let failed = |error: &str| Status::bad_request(format!("error decoding YAML: {error}"));
        let (text, duplicates) = standin::yaml_to_json(self.body).map_err(|error| failed(&error))?;
        let (config, _) = standin::parse(&text).map_err(|error| failed(&error))?;
        let live = live.map(|live| with_head(self.entry, live));
        let manager = tracking::manager(self.entry, self.subresource);
        let applied = manager.apply(live.as_ref(), &config, by, self.options.force, now)?;
        let problems: Vec<String> = duplicates.iter().map(Problem::to_string).collect();
        if !problems.is_empty() {
            match self.options.validation {
                FieldValidation::Strict => {
                    let text = format!("error strict decoding YAML: {}", problems.join(", "));
                    return Err(Status::bad_request(text));
                }
                FieldValidation::Warn => warnings.extend(problems),
                FieldValidation::Ignore => {}
            }
        }
        let normal = json::normalise(self.entry.type_, &applied, FieldValidation::Ignore);
        let (object, _) = normal.map_err(|error| Status::new(500, "", error.to_string()))?;
        let mut object = without_head(object);
        self.entry.kind.strategy.default(&mut object);
        Ok(object)
    }
}

/// The object with kind and apiVersion, which patches may test.
fn with_head(entry: &Entry, object: &Value) -> Value {
    let mut object = object.clone();
    let fields: &mut Map<String, Value> = meta::map(&mut object);
    fields.insert("kind".to_owned(), entry.kind.kind.into());
    fields.insert("apiVersion".to_owned(), entry.api_version.as_str().into());
    object
}

fn without_head(mut object: Value) -> Value {
    let fields = meta::map(&mut object);
    fields.remove("kind");
    fields.remove("apiVersion");
    object
}
