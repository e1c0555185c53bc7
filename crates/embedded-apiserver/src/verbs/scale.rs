//! The subresource `scale` of Deployments and replica sets: `ScaleREST` of `pkg/registry/apps`.

use serde_json::{Map, Value, json};

use super::call::{Call, Content, Outcome};
use super::change::change;
use super::decode::{self, Expected};
use super::meta;
use super::names;
use super::options::{WriteOptions, manager};
use super::patch::Patch;
use super::read;
use super::tracking;
use crate::http::content_type;
use crate::kinds::{Errors, Path, label_selector, tree};
use crate::schema::Type;
use crate::status::Status;

/// The name of the subresource.
pub(crate) const SCALE: &str = "scale";

const API_VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";

/// Reads the scale of an object.
pub(crate) fn get(call: Call<'_>) -> Result<Outcome, Status> {
    outcome(&call.entry.tree(read::get(call)?.body())?)
}

/// Replaces the scale of an object.
pub(crate) fn update(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    let options = WriteOptions::parse(call.query, "UpdateOptions")?;
    let format = content_type::format_of(call.headers)?;
    let wanted = decode::body(format, call.body()?, expected()?, options.validation, warnings)?;
    names::check_name(&wanted, &call.target.name)?;
    changed(call, &options, warnings, &|_, _| Ok(wanted.clone()))
}

/// Patches the scale of an object.
pub(crate) fn patch(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    let patch = Patch::read(call)?;
    let wanted = |scale: &Value, warnings: &mut Vec<String>| patch.patched_view(expected()?, scale, warnings);
    changed(call, &patch.options, warnings, &wanted)
}

fn expected() -> Result<Expected<'static>, Status> {
    let type_ = Type::named("k8s.io/api/autoscaling/v1.Scale");
    let type_ = type_.ok_or_else(|| Status::internal(format!("no schema of {KIND}")))?;
    Ok(Expected { api_version: API_VERSION, kind: KIND, type_ })
}

type Wanted<'a> = dyn Fn(&Value, &mut Vec<String>) -> Result<Value, Status> + 'a;

/// Changes the object to have the wanted scale.
fn changed(
    call: Call<'_>,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
    wanted: &Wanted<'_>,
) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let by = manager(options, call.headers);
    let request = call.change(options);
    let changed = change(core, request, warnings, &mut |live, warnings| {
        let missing = || Status::not_found(entry.kind.group, entry.kind.plural, &target.name);
        let live = live.ok_or_else(missing)?;
        let scale = wanted(&of(live), warnings)?;
        let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or_default();
        if replicas < 0 {
            let mut errors = Errors::default();
            let detail = "must be greater than or equal to 0";
            errors.invalid(&Path::root("spec").child("replicas"), replicas, detail);
            return Err(errors.into_status("autoscaling", KIND, &target.name));
        }
        let mut object = live.clone();
        tree::set(tree::field_mut(&mut object, "spec"), "replicas", replicas);
        meta::set(&mut object, "resourceVersion", meta::text(&scale, "resourceVersion").into());
        tracking::manager(entry, target.subresource).update(
            Some(live),
            &mut object,
            &by,
            core.environment.now(),
        );
        Ok(object)
    })?;
    outcome(&entry.tree(&changed.body)?)
}

/// The scale of an object.
fn of(object: &Value) -> Value {
    let metadata = object.get("metadata").and_then(Value::as_object).into_iter().flatten();
    let kept = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: Map<String, Value> = metadata
        .filter(|(key, _)| kept.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let number = |pointer| object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default();
    let (replicas, present) = (number("/spec/replicas"), number("/status/replicas"));
    let mut spec = Map::new();
    if replicas != 0 {
        spec.insert("replicas".to_owned(), replicas.into());
    }
    let mut status = json!({ "replicas": present });
    let selector = object.pointer("/spec/selector").and_then(label_selector::text).unwrap_or_default();
    if let (false, Value::Object(fields)) = (selector.is_empty(), &mut status) {
        fields.insert("selector".to_owned(), selector.into());
    }
    json!({ "metadata": metadata, "spec": spec, "status": status })
}

fn outcome(object: &Value) -> Result<Outcome, Status> {
    let content = Content::Other(API_VERSION, KIND, Some(expected()?.type_), of(object));
    Ok(Outcome::new(200, content))
}
