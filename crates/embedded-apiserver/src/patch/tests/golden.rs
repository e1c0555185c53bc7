//! Replays what upstream's patches did (`hack/testenv/patches`).

use golden_cases::{Case, replay};
use serde::Deserialize;
use serde_json::Value;

use crate::patch::{json_patch, merge, strategic};
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
    #[serde(default)]
    message: String,
}

impl Case for Patched {
    fn title(&self) -> (usize, String) {
        (self.number, self.kind.clone())
    }

    fn differences(self) -> Vec<String> {
        let Some(case) = self.patch else { return Vec::new() };
        let done = match self.kind.as_str() {
            "strategic" => strategic(Type::named(&self.of).unwrap(), &case.object, &mut case.changes.clone()),
            "json" => json_patch(&case.object, &case.changes),
            // Anything else is refused before or after.
            _ if case.changes.is_object() => {
                let mut merged = case.object.clone();
                merge(&mut merged, &case.changes);
                Ok(merged)
            }
            _ => return Vec::new(),
        };
        let (ours, theirs) = match done {
            Ok(result) => ((0, String::new(), result), (case.code, case.message, case.result)),
            Err(status) => {
                // Of values of other types, directives for one, upstream prints the type too.
                let is_untold = status.code == 422 || case.message.contains("%!s(");
                let message = if is_untold { case.message.clone() } else { status.message };
                ((status.code, message, Value::Null), (case.code, case.message, case.result))
            }
        };
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
    replay::<Patched>(FILE, 1000, "-p embedded-apiserver patches_do_what_those_of_upstream_do");
}
