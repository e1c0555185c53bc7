//! Replays what upstream's field manager did (`hack/testenv/patches`).

use golden_cases::{Case, replay};
use serde::Deserialize;
use serde_json::{Value, json};

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
    time: String,
    live: Option<Value>,
    object: Value,
    result: Option<Value>,
    #[serde(default)]
    code: u16,
}

impl Case for Owners {
    fn title(&self) -> (usize, String) {
        (self.number, self.kind.clone())
    }

    fn differences(self) -> Vec<String> {
        if self.steps.is_empty() {
            return Vec::new();
        }
        let of = Type::named(&self.of).unwrap();
        let resource = format!("{}s", of.name.to_lowercase());
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        let mut found = Vec::new();
        let mut live = None;
        for (index, step) in self.steps.iter().enumerate() {
            live = step.live.clone().or(live);
            let manager = FieldManager {
                of,
                api_version: &self.api_version,
                subresource: &step.subresource,
                reset: reset_fields(group, &resource, &step.subresource),
            };
            let before = live.as_ref();
            // Of server-side apply, only what it leaves is looked at: the entries that others then change.
            let differences = if step.verb == "apply" { None } else { step.update(&manager, before) };
            found.extend(differences.into_iter().map(|difference| {
                let live = live.as_ref().map_or_else(|| "none".to_owned(), Value::to_string);
                format!(
                    "step {index} ({} by {}): {difference}\n    live {live}\n    object {}",
                    step.verb, step.manager, step.object
                )
            }));
            live = step.after().or(live);
        }
        found
    }
}

impl Step {
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
        let time = self.time.parse().unwrap();
        manager.update(live, &mut object, &self.manager, time);
        let [ours, theirs] = [object["metadata"].get("managedFields"), self.result.as_ref()].map(of_servers);
        difference(&ours, &theirs)
    }
}

/// The entries without those that clients made up: upstream makes them fit the schema.
fn of_servers(entries: Option<&Value>) -> Value {
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    entries.filter(|entry| entry["manager"] != "made-up").cloned().collect()
}

fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    (ours != theirs).then(|| format!("\n    ours     {ours}\n    upstream {theirs}"))
}

#[test]
fn owners_are_those_of_upstream() {
    replay::<Owners>(FILE, 1000, "-p embedded-apiserver owners_are_those_of_upstream");
}
