use super::*;
use crate::codec::json::{self, FieldValidation};
use crate::codec::testdata::objects;
use crate::schema::Type;

#[test]
fn trees_are_those_of_go_and_encode_to_the_same_bytes() {
    for object in objects() {
        let tree = decode(object.of, &object.protobuf).unwrap();
        let mut text = Vec::new();
        json::encode(object.of, &tree, &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), object.json, "{}", object.of.path);
        assert!(encode(object.of, &tree) == object.protobuf, "{}: {}", object.of.path, object.json);
    }
}

#[test]
fn json_is_written_without_a_tree_as_go_writes_it() {
    for object in objects() {
        let mut text = Vec::new();
        to_json(object.of, &object.protobuf, None, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), object.json, "{}", object.of.path);
    }
}

#[test]
fn json_of_go_decodes_to_the_same_tree() {
    for object in objects() {
        let tree = decode(object.of, &object.protobuf).unwrap();
        let (from_json, problems) =
            json::decode(object.of, object.json.as_bytes(), FieldValidation::Strict).unwrap();
        assert_eq!(from_json, tree, "{}", object.of.path);
        assert_eq!(problems, []);
    }
}

#[test]
fn a_single_object_begins_with_its_type() {
    let pod = Type::named("k8s.io/api/core/v1.Pod").unwrap();
    let mut text = Vec::new();
    to_json(pod, &encode(pod, &pod.zero()), Some(("v1", "Pod")), &mut text).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":null},"status":{}}"#
    );
}

#[test]
fn the_resource_version_is_replaced_in_place() {
    let pod = Type::named("k8s.io/api/core/v1.Pod").unwrap();
    let long = "a".repeat(200);
    for name in ["", "web-0", &long] {
        for version in ["", "1", "123456789"] {
            let mut tree = pod.zero();
            tree["metadata"] =
                serde_json::json!({"name": name, "labels": {"app": "web"}, "resourceVersion": "7"});
            let spliced = set_resource_version(&encode(pod, &tree), version).unwrap();
            assert_eq!(resource_version(&spliced).unwrap(), version);
            tree["metadata"]["resourceVersion"] = version.into();
            assert!(spliced == encode(pod, &tree));
        }
    }
    assert_eq!(set_resource_version(b"", "5").unwrap(), &b"\x0a\x03\x32\x015"[..]);
    assert!(set_resource_version(b"\x0a\xff", "5").is_err());
}

#[test]
fn fields_are_found_without_decoding() {
    let pod = Type::named("k8s.io/api/core/v1.Pod").unwrap();
    let tree = serde_json::json!({
        "metadata": {"labels": {"a": "1", "b": "2"}, "uid": "u", "finalizers": ["x", "y"], "generation": 3},
        "spec": {"nodeName": "node-1", "containers": []}, "status": {"phase": "Running"},
    });
    let bytes = encode(pod, &tree);
    let path = |path: &str| Path::new(pod, path).unwrap();
    assert_eq!(path("spec.nodeName").text(&bytes).unwrap(), "node-1");
    assert_eq!(path("status.phase").text(&bytes).unwrap(), "Running");
    assert_eq!(path("metadata.uid").text(&bytes).unwrap(), "u");
    assert_eq!(path("metadata.generation").number(&bytes).unwrap(), 3);
    assert_eq!(path("status.podIP").text(&bytes).unwrap(), "");
    let labels: Vec<_> = entries(path("metadata.labels").all(&bytes).unwrap()).map(Result::unwrap).collect();
    assert_eq!(labels, [("a", "1"), ("b", "2")]);
    let finalizers: Vec<_> = path("metadata.finalizers").all(&bytes).unwrap().map(Result::unwrap).collect();
    assert_eq!(finalizers, [b"x", b"y"]);
    assert_eq!(Path::new(pod, "spec.none"), None);
    assert_eq!(Path::new(pod, "metadata.labels.a"), None);
    assert!(path("spec.nodeName").text(b"\x12\x7f").is_err());
}
