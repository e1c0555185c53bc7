use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;

use super::*;

fn slice(value: Value) -> EndpointSlice {
    serde_json::from_value(value).unwrap()
}

fn stored() -> EndpointSlice {
    slice(json!({
        "metadata": {
            "name": "web-a", "generateName": "web-", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"team": "a"},
            "annotations": {LAST_CHANGE_TRIGGER_TIME: "2026-01-01T00:00:00Z"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
        "ports": [],
    }))
}

fn texts(found: &Found) -> Vec<String> {
    let side = |side: &Option<Box<str>>| side.as_deref().unwrap_or("none").to_owned();
    found
        .fields
        .iter()
        .map(|it| format!("{}: {} -> {}", it.path, side(&it.before), side(&it.after)))
        .collect()
}

#[test]
fn writes_that_are_not_known_are_one_difference_about_the_service() {
    let [found] = &found("web", None)[..] else { panic!() };
    assert_eq!(
        (found.identity.kind, found.identity.object, &*found.identity.name),
        (Kind::Unknown, "Service", "web")
    );
}

#[test]
fn no_write_is_no_difference() {
    assert_eq!(found("web", Some(Vec::new())), []);
}

/// The sync leaves them out of what it sends, or has another trigger time.
#[test]
fn what_the_server_sets_the_trigger_time_and_empty_lists_do_not_differ() {
    let mut planned = stored();
    planned.metadata.uid = None;
    planned.metadata.generate_name = None;
    planned.metadata.creation_timestamp = None;
    planned.metadata.annotations = None;
    planned.ports = None;
    planned.metadata.labels = Some([("team".to_owned(), "b".to_owned())].into());
    let [found] = &found("web", Some(vec![PendingWrite::Update(stored().into(), planned.into())]))[..] else {
        panic!()
    };
    assert_eq!(found.identity.kind, Kind::Update);
    assert_eq!(texts(found), ["metadata.labels.team: a -> b"]);
}

#[test]
fn a_field_that_only_one_side_has_is_named_with_that_side() {
    let mut planned = stored();
    planned.endpoints = Some(Vec::new());
    let [found] = &found("web", Some(vec![PendingWrite::Update(stored().into(), planned.into())]))[..] else {
        panic!()
    };
    assert_eq!(
        texts(found),
        [r#"endpoints: [{"addresses":["10.0.0.1"],"conditions":{"ready":true}}] -> none"#]
    );
}

#[test]
fn objects_without_names_are_told_apart_by_their_order() {
    let new = || {
        PendingWrite::Create(
            slice(json!({"metadata": {"generateName": "web-"}, "addressType": "IPv4"})).into(),
        )
    };
    let found = found("web", Some(vec![new(), PendingWrite::Delete(stored().into()), new()]));
    let identities: Vec<_> = found
        .iter()
        .map(|it| (it.identity.kind, &*it.identity.name, it.identity.is_generated, it.identity.number))
        .collect();
    assert_eq!(
        identities,
        [(Kind::Create, "web-", true, 0), (Kind::Delete, "web-a", false, 0), (Kind::Create, "web-", true, 1),]
    );
    assert!(found[1].fields.is_empty(), "a deletion is one difference: {found:?}");
    assert!(!found[0].fields.is_empty());
}

/// Annotations of a user may have 256 KiB.
#[test]
fn long_values_are_cut_between_characters() {
    let planned = Endpoints {
        metadata: serde_json::from_value(json!({"name": "web", "labels": {"a": "ä".repeat(1_000)}})).unwrap(),
        subsets: None,
    };
    let [found] = &found("web", Some(vec![PendingWrite::Create(planned.into())]))[..] else { panic!() };
    let label = found.fields.iter().find(|field| field.path.contains("labels")).unwrap();
    assert_eq!(label.after.as_deref().unwrap(), "ä".repeat(MAX_TEXT) + "…");
}
