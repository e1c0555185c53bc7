use serde_json::json;

use super::*;
use crate::store::Expect;
use crate::store::example::labelled;

/// Knows Pods and Nodes with a name and a namespace, and writes their bodies as numbers.
struct Numbers;

impl Translation for Numbers {
    fn tree(&self, resource: Resource, body: &[u8]) -> Result<Value, String> {
        let meta = kube_protobuf::meta(body).map_err(|error| error.to_string())?;
        let kind = if resource.0 == 0 { "Pod" } else { "Node" };
        let namespace = if resource.0 == 0 { "ns" } else { "" };
        let text = "two\n\nlines: [";
        Ok(json!({
            "kind": kind, "text": text, "body": body,
            "metadata": {"name": meta.name, "namespace": namespace, "resourceVersion": meta.resource_version},
        }))
    }

    fn stored(&self, object: Value) -> Result<(Resource, Vec<u8>), String> {
        assert_eq!(object["text"], "two\n\nlines: [");
        let resource = match object["kind"].as_str() {
            Some("Pod") => Resource(0),
            Some("Node") => Resource(1),
            other => return Err(format!("unknown kind {other:?}")),
        };
        Ok((resource, serde_json::from_value(object["body"].clone()).unwrap()))
    }
}

fn objects(store: &Store) -> Vec<(Resource, String, Vec<u8>)> {
    let objects = store.everything().1.into_iter();
    objects.map(|(resource, object)| (resource, object.key().to_owned(), object.body().to_vec())).collect()
}

#[test]
fn a_snapshot_restores_objects_and_versions() {
    let store = Store::new(2, StoreOptions::default());
    for name in ["b", "a", "gone"] {
        store.put(Resource(0), &format!("ns/{name}"), Expect::Absent, &labelled(name, 1)).unwrap();
    }
    store.put(Resource(1), "node", Expect::Absent, &labelled("node", 1)).unwrap();
    store.delete(Resource(0), "ns/gone", Expect::Present).unwrap();
    let yaml = write(&store, &Numbers).unwrap();
    assert!(
        yaml.starts_with("apiVersion: v1\nkind: List\nmetadata:\n  resourceVersion: \"6\"\nitems:\n- "),
        "{yaml}"
    );
    let restored = read(&yaml, 2, StoreOptions::default(), &Numbers).unwrap();
    assert_eq!((restored.version(), restored.compacted()), (6, 6));
    assert_eq!(objects(&restored), objects(&store));
    assert_eq!(write(&restored, &Numbers).unwrap(), yaml);
}

#[test]
fn an_empty_state_is_a_list_without_items() {
    let store = Store::new(2, StoreOptions::default());
    let yaml = write(&store, &Numbers).unwrap();
    let restored = read(&yaml, 2, StoreOptions::default(), &Numbers).unwrap();
    assert_eq!((restored.version(), objects(&restored)), (1, Vec::new()));
}

#[test]
fn errors_name_the_item() {
    let read = |yaml: &str| read(yaml, 2, StoreOptions::default(), &Numbers).unwrap_err().to_string();
    assert!(read("{").starts_with("the snapshot is no YAML: "));
    for yaml in ["kind: Pod", "[]", "1", "kind: List", "items: []"] {
        assert!(read(yaml).starts_with("the snapshot is no list: "), "{yaml}");
    }
    let version = "kind: List\nmetadata: {resourceVersion: \"x\"}\nitems: []";
    assert_eq!(read(version), "the snapshot's metadata.resourceVersion \"x\" is no number above 0");
    for (item, error) in [
        ("{kind: Pod}", "item 0 of the snapshot (Pod ) is wrong: metadata.name is missing"),
        (
            "{kind: Pod, metadata: {name: a, namespace: ns, resourceVersion: \"x\"}}",
            "item 0 of the snapshot (Pod ns/a) is wrong: metadata.resourceVersion \"x\" is no number",
        ),
        (
            "{kind: Job, text: \"two\\n\\nlines: [\", metadata: {name: a}}",
            "item 0 of the snapshot (Job a) is wrong: unknown kind Some(\"Job\")",
        ),
    ] {
        assert_eq!(read(&format!("kind: List\nitems:\n- {item}")), error);
    }
}
