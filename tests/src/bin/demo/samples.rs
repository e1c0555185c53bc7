//! The manifests of config/samples.

use std::path::Path;

use kube::api::PostParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde::Deserialize as _;

/// All objects, by file name and in the order within the files.
pub(crate) fn read() -> Vec<DynamicObject> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/samples");
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files.iter().flat_map(|file| objects(file)).collect()
}

fn objects(file: &Path) -> Vec<DynamicObject> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parse = |document| DynamicObject::deserialize(document);
    let objects: Result<_, _> = serde_yaml::Deserializer::from_str(&text).map(parse).collect();
    objects.unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Equivalent of `kubectl create --namespace=<namespace>`.
pub(crate) async fn create(client: &Client, namespace: &str, object: &DynamicObject) {
    let types = object.types.as_ref().expect("a manifest has its kind");
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types).expect("an API version"));
    let api: Api<DynamicObject> = if types.kind == "Node" {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, &resource)
    };
    let created = api.create(&PostParams::default(), object).await;
    created.unwrap_or_else(|error| panic!("creating {} {}: {error}", types.kind, object.name_any()));
}

/// The kind of an object.
pub(crate) fn kind(object: &DynamicObject) -> &str {
    object.types.as_ref().map_or("", |types| &types.kind)
}
