//! Replays what upstream's field manager did (`hack/testenv/patches`).

use golden_cases::{Case, replay};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::codec::json::{FieldValidation, decode};
use crate::managed_fields::{FieldManager, reset_fields};
use crate::schema::Type;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/patches.jsonl.gz");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owners {
    number: usize,
    kind: String,
    #[serde(default, rename = "type")]
    of: String,
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    verb: String,
    manager: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    force: bool,
    time: String,
    live: Option<Value>,
    object: Value,
    result: Option<Value>,
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
    #[serde(default)]
    causes: Vec<Cause>,
}

#[derive(Deserialize)]
struct Cause {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    field: String,
}

impl Case for Owners {
    fn title(&self) -> (usize, String) {
        (self.number, self.kind.clone())
    }

    fn differences(self) -> Vec<String> {
        let deviates = self.of.ends_with(".ServiceAccount") || self.steps.iter().any(Step::deviates);
        if self.steps.is_empty() || deviates {
            return Vec::new();
        }
        let of = Type::named(&self.of).unwrap();
        let kind = of.name;
        let resource = format!("{}s", kind.to_lowercase());
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        let mut found = Vec::new();
        let mut live = None;
        for (index, step) in self.steps.iter().enumerate() {
            live = step.live.clone().or(live);
            let manager = FieldManager {
                of,
                api_version: &self.api_version,
                kind,
                subresource: &step.subresource,
                reset: reset_fields(group, &resource, &step.subresource),
            };
            let before = live.as_ref();
            let differences = if step.verb == "apply" {
                step.apply(&manager, before)
            } else {
                step.update(&manager, before)
            };
            found.extend(differences.into_iter().map(|difference| {
                let live = live.as_ref().map_or_else(|| "none".to_owned(), Value::to_string);
                format!(
                    "step {index} ({} by {}, force {}): {difference}\n    live {live}\n    object {}",
                    step.verb, step.manager, step.force, step.object
                )
            }));
            live = step.after().or(live);
        }
        found
    }
}

impl Step {
    /// True if it forgets all managers, which is a deviation, as are list items without a key, which only service accounts have.
    fn deviates(&self) -> bool {
        let entries = &self.object["metadata"]["managedFields"];
        self.verb != "apply" && [json!([]), json!([{}])].contains(entries)
    }

    /// The object that upstream has stored.
    fn after(&self) -> Option<Value> {
        if self.code != 0 {
            return None;
        }
        let mut object = if self.verb == "apply" { self.result.clone()? } else { self.object.clone() };
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.insert("uid".to_owned(), json!("uid"));
        if self.verb != "apply" {
            metadata.remove("managedFields");
            metadata.extend(self.result.clone().map(|entries| ("managedFields".to_owned(), entries)));
        }
        Some(object)
    }

    fn update(&self, manager: &FieldManager<'_>, live: Option<&Value>) -> Option<String> {
        let mut object = self.object.clone();
        manager.update(live, &mut object, &self.manager, self.time.parse().unwrap());
        let ours = object["metadata"].get("managedFields").cloned();
        difference(&json!(ours), &json!(self.result))
    }

    fn apply(&self, manager: &FieldManager<'_>, live: Option<&Value>) -> Option<String> {
        let time = self.time.parse().unwrap();
        match manager.apply(live, &self.object, &self.manager, self.force, time) {
            Ok(mut object) => {
                let Some(theirs) = &self.result else {
                    return Some(format!("upstream refuses it: {}", self.message));
                };
                let mut theirs = theirs.clone();
                let entries =
                    |object: &mut Value| object["metadata"].as_object_mut().unwrap().remove("managedFields");
                let (ours, theirs_entries) = (entries(&mut object), entries(&mut theirs));
                difference(&json!(ours), &json!(theirs_entries)).or_else(|| {
                    let (ours, _) = decode(manager.of, object.clone(), FieldValidation::Ignore).unwrap();
                    difference(&ours, &theirs)
                })
            }
            Err(status) => {
                let mut causes: Vec<Value> = status
                    .details
                    .iter()
                    .flat_map(|details| &details.causes)
                    .map(|cause| json!([cause.reason, cause.message, cause.field]))
                    .collect();
                causes.sort_by_key(|cause| cause[1].as_str().unwrap().to_owned());
                let theirs: Vec<Value> = self
                    .causes
                    .iter()
                    .map(|cause| json!([cause.reason, cause.message, cause.field]))
                    .collect();
                let (ours_text, theirs_text) = (lines(&status.message), lines(&self.message));
                // upstream stops at unknown fields, which it finds sooner or later
                if [&status.message, &self.message]
                    .iter()
                    .all(|text| text.contains("field not declared in schema"))
                {
                    return None;
                }
                difference(&json!([status.code, ours_text, causes]), &json!([self.code, theirs_text, theirs]))
            }
        }
    }
}

/// A text without values of a wrong type; several errors in an order of their own, because upstream's is that of a map.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().map(|line| line.split(", got ").next().unwrap()).collect();
    if text.contains("errors:\n") {
        lines.sort_unstable();
    }
    lines
}

fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    (ours != theirs).then(|| format!("\n    ours     {ours}\n    upstream {theirs}"))
}

#[test]
fn owners_are_those_of_upstream() {
    replay::<Owners>(FILE, 900, "-p embedded-apiserver owners_are_those_of_upstream");
}
