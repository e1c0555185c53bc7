//! Replays what upstream's patches did (`hack/testenv/patches`).

use golden_cases::{Case, replay};
use serde::Deserialize;
use serde_json::Value;

use crate::patch::{merge, strategic};
use crate::schema::Type;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/patches.jsonl.gz");

#[derive(Deserialize)]
struct Patched {
    number: usize,
    kind: String,
    #[serde(default, rename = "type")]
    of: String,
    patch: Option<Patch>,
}

#[derive(Deserialize)]
struct Patch {
    object: Value,
    #[serde(rename = "patch")]
    changes: Value,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    code: u16,
}

impl Case for Patched {
    fn title(&self) -> (usize, String) {
        (self.number, self.kind.clone())
    }

    fn differences(self) -> Vec<String> {
        let Some(case) = self.patch else { return Vec::new() };
        let done = if self.kind.as_str() == "strategic" {
            strategic(Type::named(&self.of).unwrap(), &case.object, &mut case.changes.clone())
        } else {
            let mut merged = case.object.clone();
            // The verb refuses patches that are not objects.
            let (Value::Object(object), Value::Object(changes)) = (&mut merged, case.changes.clone()) else {
                return Vec::new();
            };
            merge(object, changes);
            Ok(merged)
        };
        // Refusals have words and codes of their own.
        let ours = done.map_err(drop);
        let theirs = if case.code == 0 { Ok(case.result) } else { Err(()) };
        if ours == theirs {
            return Vec::new();
        }
        vec![format!(
            "\n    ours     {ours:?}\n    upstream {theirs:?}\n    object {}\n    patch {}",
            case.object, case.changes
        )]
    }
}

#[test]
fn patches_do_what_those_of_upstream_do() {
    replay::<Patched>(FILE, 900, "-p embedded-apiserver patches_do_what_those_of_upstream_do");
}
