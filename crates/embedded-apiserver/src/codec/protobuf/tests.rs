use super::*;
use crate::codec::json::{self, FieldValidation};
use crate::codec::tests::testdata::objects;
use crate::schema::Type;

#[test]
fn both_encodings_of_go_are_one_tree_and_encoded_the_same() {
    for object in objects() {
        let tree = decode(object.of, &object.protobuf).unwrap();
        let mut text = Vec::new();
        json::encode(object.of, &tree, &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), object.json, "{}", object.of.path);
        assert!(encode(object.of, &tree) == object.protobuf, "{}: {}", object.of.path, object.json);
        let parsed = json::parse(object.json.as_bytes()).unwrap();
        let decoded = json::decode(object.of, parsed, FieldValidation::Strict);
        assert_eq!(decoded, Ok((tree, Vec::new())), "{}", object.of.path);
    }
}

#[test]
fn the_resource_version_is_replaced_in_place() {
    let pod = Type::named("k8s.io/api/core/v1.Pod").unwrap();
    let long = "a".repeat(200);
    for name in ["", "web-0", &long] {
        for version in [1, 123_456_789] {
            let mut tree = pod.zero();
            tree["metadata"] =
                serde_json::json!({"name": name, "labels": {"app": "web"}, "resourceVersion": "7"});
            let stamped = Template::cut(&encode(pod, &tree)).stamp(version);
            tree["metadata"]["resourceVersion"] = version.to_string().into();
            assert!(stamped == encode(pod, &tree));
        }
    }
    // name, resourceVersion, creationTimestamp; then a field of the object
    for before in [&b"\x0a\x06\x0a\x01a\x42\x01x\x10\x01"[..], b"\x0a\x09\x0a\x01a\x32\x019\x42\x01x\x10\x01"]
    {
        let stamped = Template::cut(before).stamp(1234);
        assert_eq!(stamped, b"\x0a\x0c\x0a\x01a\x32\x041234\x42\x01x\x10\x01");
        assert_eq!(stamped.len(), stamped.capacity());
    }
    assert_eq!(Template::cut(b"").stamp(7), b"\x0a\x03\x32\x017");
    assert_eq!(Template::cut(b"\x10\x01").stamp(7), b"\x0a\x03\x32\x017\x10\x01");
}

#[test]
fn malformed_fields_are_refused() {
    let pod = Type::named("k8s.io/api/core/v1.Pod").unwrap();
    let refused = |bytes: &[u8]| decode(pod, bytes).unwrap_err().0;
    assert_eq!(refused(b"\x0a\x03\x3a\x01"), "unexpected EOF");
    assert_eq!(refused(b"abc"), "unexpected EOF");
    assert_eq!(refused(b"\x00"), "proto: Pod: illegal tag 0 (wire type 0)");
    // Numbers in place of metadata and name.
    for bytes in [&b"\x08\x01"[..], b"\x0a\x02\x08\x01"] {
        assert!(refused(bytes).starts_with("proto: "), "{}", refused(bytes));
    }
}

#[test]
fn paths_are_numbers() {
    let pod = Type::named("k8s.io/api/core/v1.Pod").unwrap();
    let numbers = |path: &str| field_numbers(pod, path);
    assert_eq!(numbers("spec.nodeName"), Some(vec![2, 10]));
    assert_eq!(numbers("metadata.labels"), Some(vec![1, 11]));
    assert_eq!(numbers("status.phase"), Some(vec![3, 1]));
    assert_eq!(numbers("spec.none"), None);
    assert_eq!(numbers("metadata.labels.a"), None);
}
