//! The differences that are in two passes over a cluster whose objects change all the time.

use std::collections::HashMap;

use cli_runtime::differences::{Action, Change, FieldChange};

/// The changes that an earlier pass found too, with the fields that would get the same value both times. An object that
/// is written between the passes may differ in both, each time in something else: then it is late, not wrong.
pub(super) fn lasting(changes: Vec<Change>, earlier: &[Change]) -> Vec<Change> {
    let earlier: HashMap<_, _> = earlier.iter().map(|change| (key(change), &change.fields)).collect();
    let in_both = |mut change: Change| {
        let known = earlier.get(&key(&change))?;
        if change.action != Action::Update || change.fields.is_empty() {
            return Some(change);
        }
        change.fields.retain(|field| known.iter().any(|it| is_same(it, field)));
        (!change.fields.is_empty()).then_some(change)
    };
    changes.into_iter().filter_map(in_both).collect()
}

fn key(change: &Change) -> [&str; 4] {
    [change.action.verb(), &change.kind, &change.namespace, &change.name]
}

/// True for the same field with the same value to write. The value that it has may change, as the time of the last change
/// does where a flag would remove it.
fn is_same(one: &FieldChange, other: &FieldChange) -> bool {
    (&one.path, &one.after) == (&other.path, &other.after)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::lasting;
    use cli_runtime::differences::{Action, Change, FieldChange};

    const READY: &str = "endpoints[0].conditions.ready";
    const TRIGGER: &str = "metadata.annotations.endpoints.kubernetes.io/last-change-trigger-time";

    fn change(action: Action, name: &str, fields: &[(&str, Value, Value)]) -> Change {
        let field = |(path, before, after): &(&str, Value, Value)| FieldChange {
            path: (*path).to_owned(),
            before: Some(before.clone()).filter(|value| !value.is_null()),
            after: Some(after.clone()).filter(|value| !value.is_null()),
        };
        Change {
            action,
            kind: "EndpointSlice".to_owned(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
            is_generated: false,
            fields: fields.iter().map(field).collect(),
        }
    }

    fn update(fields: &[(&str, Value, Value)]) -> Vec<Change> {
        vec![change(Action::Update, "web-x", fields)]
    }

    #[test]
    fn the_same_value_both_times_lasts_and_another_is_late() {
        let to_ready = || update(&[(READY, json!(false), json!(true))]);
        let to_unready = || update(&[(READY, json!(true), json!(false))]);
        // The last is one of managed fields alone.
        for (update, earlier, lasts) in [
            (to_ready(), to_ready(), to_ready()),
            (to_ready(), to_unready(), vec![]),
            (to_ready(), vec![], vec![]),
            (update(&[]), update(&[]), update(&[])),
        ] {
            assert_eq!(lasting(update, &earlier), lasts);
        }
    }

    /// A wrong gate on a Service whose pods change all the time.
    #[test]
    fn what_lasts_is_found_among_what_is_late() {
        let pass = |time: &str, ready: bool| {
            update(&[(READY, json!(!ready), json!(ready)), (TRIGGER, json!(time), Value::Null)])
        };
        let left = lasting(pass("later", true), &pass("earlier", false));
        assert_eq!(left, update(&[(TRIGGER, json!("later"), Value::Null)]));
    }

    #[test]
    fn objects_to_create_and_delete_are_the_same_by_name() {
        let fields = [(READY, Value::Null, json!(true))];
        let created = || change(Action::Create, "web-", &fields);
        let other = [(READY, Value::Null, json!(false))];
        assert_eq!(lasting(vec![created()], &[change(Action::Create, "web-", &other)]), [created()]);
        assert_eq!(lasting(vec![created()], &[change(Action::Delete, "web-", &[])]), []);
        let deleted = |name| change(Action::Delete, name, &[]);
        assert_eq!(lasting(vec![deleted("a"), deleted("b")], &[deleted("b")]), [deleted("b")]);
    }
}
