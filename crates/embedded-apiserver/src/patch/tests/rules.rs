use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::go;
use crate::patch::{check_operations, json_patch};
use crate::schema::Type;
use crate::status::Status;

fn pods() -> &'static Type {
    Type::named("k8s.io/api/core/v1.Pod").unwrap()
}

/// [`patch::merge`](crate::patch::merge) as a value.
fn merge(object: &Value, patch: &Value) -> Value {
    let mut merged = object.clone();
    crate::patch::merge(&mut merged, patch);
    merged
}

/// [`patch::strategic`](crate::patch::strategic) without what it leaves in the patch.
fn strategic(of: &'static Type, object: &Value, patch: &Value) -> Result<Value, Status> {
    crate::patch::strategic(of, object, &mut patch.clone())
}

#[test]
fn a_strategic_patch_loses_the_directives_that_were_followed() {
    let pod =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"volumes": [{"name": "v", "emptyDir": {}}]}});
    let mut patch = json!({
        "metadata": {"labels": {"$patch": "replace"}, "annotations": {"a": null, "b": {"$patch": "delete"}, "c": "d"}},
        "spec": {
            "volumes": [{"name": "v", "$retainKeys": ["name"]}, {"name": "w", "$patch": "delete"}],
            "$setElementOrder/containers": [{"name": "k"}], "containers": [{"name": "k"}],
        },
    });
    drop(crate::patch::strategic(pods(), &pod, &mut patch).unwrap());
    let volumes = json!([{"name": "v"}, {"name": "w", "$patch": "delete"}]);
    let left = json!({"metadata": {"labels": {}, "annotations": {"c": "d"}}, "spec": {"volumes": volumes}});
    assert_eq!(patch, left);
}

#[test]
fn deep_documents_are_refused() {
    // Each copy doubles the depth.
    let copies = |count: u32| {
        let path = |copy: u32| "/a".repeat(2_usize.pow(copy) + 1);
        let copies = (0..count).map(|copy| json!({"op": "copy", "from": "/a", "path": path(copy)}));
        copies.collect::<Value>()
    };
    assert!(json_patch(&json!({"a": {}}), &copies(6)).is_ok());
    assert_eq!(json_patch(&json!({"a": {}}), &copies(7)).unwrap_err().code, 422);
}

#[test]
fn what_is_no_list_of_operations_is_refused_in_gos_words() {
    let refused = json_patch(&json!({}), &json!({})).unwrap_err();
    assert_eq!(refused.message, "json: cannot unmarshal object into Go value of type jsonpatch.Patch");
}

#[test]
fn null_deletes_and_objects_merge() {
    let merged = merge(
        &json!({"a": {"b": 1, "c": 2}, "d": [1]}),
        &json!({"a": {"b": null, "e": {"f": null}}, "d": [2]}),
    );
    assert_eq!(merged, json!({"a": {"c": 2, "e": {}}, "d": [2]}));
}

#[test]
fn operations_apply_in_order_or_not_at_all() {
    let patch = json!([
        {"op": "add", "path": "/list/-", "value": 3}, {"op": "remove", "path": "/list/0"}, {"op": "copy", "from": "/list/0", "path": "/x~1y"},
        {"op": "move", "from": "/list/-1", "path": "/last"}, {"op": "test", "path": "/last", "value": 3}, {"op": "replace", "path": "/absent", "value": 1},
    ]);
    let patched = json_patch(&json!({"list": [1, 2]}), &patch).unwrap();
    assert_eq!(patched, json!({"list": [2], "x/y": 2, "last": 3, "absent": 1}));
    for wrong in [
        json!([{"op": "remove", "path": "/absent"}]),
        json!([{"op": "add", "path": "/list/9", "value": 1}]),
        json!([{"op": "test", "path": "/list", "value": 1}]),
        json!([{"op": "other", "path": "/list"}]),
        json!([{"op": "add", "path": "/a/b/c", "value": 1}]),
    ] {
        let status = json_patch(&json!({"list": [1, 2]}), &wrong).unwrap_err();
        assert_eq!((status.code, status.reason.as_ref()), (422, "Invalid"));
        assert_eq!(status.message, "the server rejected our request due to an error in our request");
    }
}

#[test]
fn copies_are_bounded() {
    let long = "x".repeat(1 << 20);
    let copies: Vec<Value> =
        (0..4).map(|at| json!({"op": "copy", "from": "/a", "path": format!("/{at}")})).collect();
    assert!(json_patch(&json!({"a": long}), &json!(copies[..2])).is_ok());
    assert_eq!(json_patch(&json!({"a": long}), &json!(copies)).unwrap_err().code, 422);
    let many = vec![json!({"op": "test", "path": "/a"}); 10_001];
    assert_eq!(json_patch(&json!({}), &json!(many)).unwrap_err().code, 413);
}

#[test]
fn operations_of_the_wrong_type_are_named_as_go_names_them() {
    let message = |patch: Value| check_operations(&patch).unwrap_err().message;
    assert_eq!(
        message(json!({})),
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    );
    assert_eq!(
        message(json!([{"op": 1}])),
        "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"
    );
}

#[test]
fn lists_merge_by_key_and_directives_are_followed() {
    let pod = json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}], "volumes": [{"name": "v", "emptyDir": {}}]}});
    let patch = json!({"spec": {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}],
        "containers": [{"name": "c"}, {"name": "b", "image": "3"}, {"name": "a", "$patch": "delete"}],
        "volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}],
    }});
    let patched = strategic(pods(), &pod, &patch).unwrap();
    let spec = json!({
        "containers": [{"name": "c"}, {"name": "b", "image": "3"}],
        "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
    });
    assert_eq!(patched, json!({"spec": spec}));
    let replaced =
        strategic(pods(), &pod, &json!({"spec": {"containers": [{"$patch": "replace"}, {"name": "x"}]}}))
            .unwrap();
    assert_eq!(replaced["spec"]["containers"], json!([{"name": "x"}]));
    let finalizers = json!({"metadata": {"finalizers": ["a", "b"]}});
    let deleted = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}});
    let deleted = strategic(pods(), &finalizers, &deleted).unwrap();
    assert_eq!(deleted["metadata"]["finalizers"], json!(["c", "b"]));
}

#[test]
fn malformed_directives_are_refused_in_upstreams_words() {
    let pod = json!({"spec": {"containers": [{"name": "a"}]}, "metadata": {"labels": {"a": "b"}}});
    let cases = [
        (
            json!({"spec": {"containers": [{"image": "x"}]}}),
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (json!({"$patch": "other"}), 500, "unknown patch type: other in map: map[$patch:other]"),
        (json!({"metadata": {"$retainKeys": "x"}}), 400, "invalid patch format of retainKeys"),
        (json!({"spec": {"$deleteFromPrimitiveList": []}}), 400, "invalid patch format of primitive list"),
        (
            json!({"spec": {"$setElementOrder/containers": 1}}),
            500,
            "expected a []interface {}, but received a int64",
        ),
    ];
    for (patch, code, message) in cases {
        let status = strategic(pods(), &pod, &patch).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }
}

#[test]
fn values_are_printed_as_go_prints_them() {
    let value = json!({"b": [1, "x y", null, 1.5, true], "a": {}, "c": 1_000_000.0, "d": 0.000_01});
    assert_eq!(go::plain(&value), "map[a:map[] b:[1 x y <nil> 1.5 true] c:1e+06 d:1e-05]");
    assert_eq!(go::quote("a\"\n\u{1}ü\u{200b}"), "\"a\\\"\\n\\x01ü\\u200b\"");
    assert_eq!(go::json(&json!("<a>&")), "\"\\u003ca\\u003e\\u0026\"");
}

/// Trees without nulls.
fn trees() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![(0..3_u8).prop_map(|number| json!(number)), "[ab]".prop_map(Value::String)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map("[abc]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn objects() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[abc]", trees(), 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// The merge patch from one object to another.
fn diff(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else { return to.clone() };
    let mut patch = Map::new();
    for (name, value) in to {
        match from.get(name) {
            Some(old) if old == value => {}
            Some(old @ Value::Object(_)) if value.is_object() => {
                drop(patch.insert(name.clone(), diff(old, value)))
            }
            _ => drop(patch.insert(name.clone(), value.clone())),
        }
    }
    patch.extend(from.keys().filter(|name| !to.contains_key(*name)).map(|name| (name.clone(), Value::Null)));
    Value::Object(patch)
}

proptest! {
    #[test]
    fn the_difference_of_two_objects_turns_one_into_the_other(a in objects(), b in objects()) {
        prop_assert_eq!(merge(&a, &diff(&a, &b)), b);
    }

    #[test]
    fn an_empty_patch_changes_nothing(a in objects()) {
        prop_assert_eq!(&merge(&a, &json!({})), &a);
        prop_assert_eq!(&json_patch(&a, &json!([])).unwrap(), &a);
        prop_assert_eq!(&strategic(pods(), &a, &json!({})).unwrap(), &a);
    }

    #[test]
    fn no_patch_panics(a in objects(), patch in trees()) {
        drop(merge(&a, &patch));
        drop(json_patch(&a, &patch));
        drop(check_operations(&patch));
        drop(strategic(pods(), &a, &patch));
    }
}
