//! The manifests of config/samples.

use std::path::Path;

use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use tests::requests::manifest;

/// All objects, by file name and in the order within the files.
pub(crate) fn read() -> Vec<DynamicObject> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/samples");
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let objects = files.iter().flat_map(|file| manifest(file));
    objects.map(|object| serde_json::from_value(object).expect("an object with its kind")).collect()
}

/// Equivalent of `kubectl apply --server-side --namespace=<namespace>`.
pub(crate) async fn apply(client: &Client, namespace: &str, object: &DynamicObject) {
    let types = object.types.as_ref().expect("a manifest has its kind");
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types).expect("an API version"));
    let api: Api<DynamicObject> = if types.kind == "Node" {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, &resource)
    };
    let name = object.name_any();
    let applied = api.patch(&name, &PatchParams::apply("demo"), &Patch::Apply(object)).await;
    applied.unwrap_or_else(|error| panic!("applying {} {name}: {error}", types.kind));
}

/// The kind of an object.
pub(crate) fn kind(object: &DynamicObject) -> &str {
    object.types.as_ref().map_or("", |types| &types.kind)
}
