//! kubeconform, with the schemas that the real API server publishes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::process::Command;

use kube::Client;
use serde_json::{Value, json};
use tests::binaries;
use tests::cluster::{Cluster, ClusterOptions};
use tests::wait::{self, LIMIT};

use super::super::manifests::{file, kustomization, text, with_components};
use super::super::site::SYSTEM;
use super::super::{COMPONENTS, OVERLAYS, STATIC_POD, serve_monitors};
use super::template;

/// Strict: no unknown field.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_objects_conform_to_the_schemas_of_the_api_server() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let client = cluster.client();
    serve_monitors(&client).await;
    let enabled = json!({"enabled": true});
    let everything = json!({
        "lease": {"hold": true}, "networkPolicy": enabled, "openshift": enabled, "podMonitor": enabled, "preflight": enabled,
        "serviceMonitor": enabled, "prometheusRule": enabled, "servingCertificate": {"secretName": "serving"},
        "serviceAccountCredentials": {"enabled": true, "createAccounts": true}, "page": enabled, "podNetworks": enabled,
        "dashboard": enabled, "config": {"Generic": {"ClientConnection": {"qps": 50}}}, "hostNetwork": true,
        "extraEnv": [{"name": "NO_PROXY", "value": "10.0.0.0/8"}],
        "extraVolumes": [{"name": "more", "emptyDir": {}}], "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "commonLabels": {"team": "network"}, "annotations": {"a": "b"}, "serviceAccount": {"annotations": {"a": "b"}},
    });
    let mut objects = template(SYSTEM, &json!({}));
    objects.extend(template(SYSTEM, &everything));
    objects.extend(template(
        SYSTEM,
        &json!({"mode": "shadow", "podMonitor": enabled, "networkPolicy": enabled, "prometheusRule": enabled}),
    ));
    objects.extend(OVERLAYS.iter().flat_map(|overlay| kustomization(overlay)));
    objects.extend(with_components("base", &COMPONENTS));
    objects.extend(file(STATIC_POD));

    let folder = tempfile::tempdir().unwrap();
    let mut kinds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for object in &objects {
        kinds.entry(text(object, "/apiVersion")).or_default().insert(text(object, "/kind"));
    }
    for (version, kinds) in kinds {
        write_schemas(&client, version, &kinds, folder.path()).await;
    }
    let (valid, printed) = conform(folder.path(), &objects);
    assert!(valid, "{printed}");
    assert!(
        printed.contains(&format!("Valid: {}, Invalid: 0, Errors: 0, Skipped: 0", objects.len())),
        "{printed}"
    );
    // Guards against schemas that allow everything.
    let mut wrong = objects.iter().find(|object| text(object, "/kind") == "Deployment").unwrap().clone();
    wrong["spec"]["template"]["spec"]["containers"][0]["arg"] = json!([]);
    let (valid, printed) = conform(folder.path(), &[wrong]);
    assert!(!valid && printed.contains("additional properties 'arg' not allowed"), "{printed}");
}

/// Runs kubeconform over objects: true if all are valid, and its output.
fn conform(schemas: &Path, objects: &[Value]) -> (bool, String) {
    let input = schemas.join("objects.yaml");
    let documents: Vec<String> = objects.iter().map(ToString::to_string).collect();
    std::fs::write(&input, documents.join("\n---\n")).unwrap();
    let location = schemas.join("{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json");
    let mut command = Command::new(binaries::tool("kubeconform"));
    command.args(["-strict", "-summary", "-schema-location"]).arg(location).stdin(File::open(input).unwrap());
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&printed).into_owned())
}

/// Writes a schema for each kind of a version, such as `apps/v1`, from what the API server publishes, these kinds at least.
async fn write_schemas(client: &Client, api_version: &str, kinds: &BTreeSet<&str>, folder: &Path) {
    let (root, group) = if api_version == "v1" { ("api", "v1") } else { ("apis", group(api_version)) };
    let url = format!("/openapi/v3/{root}/{api_version}");
    // Definitions of custom resources are published shortly after they are created, one after the other.
    let mut document: Value = wait::until(&url, LIMIT, async || {
        let request = http::Request::get(&url).body(Vec::new()).unwrap();
        let document: Value = client.request(request).await.map_err(|error| error.to_string())?;
        has_kinds(&document, kinds)?;
        Ok::<_, String>(document)
    })
    .await;
    let mut components = document["components"].take();
    for schema in components["schemas"].as_object_mut().unwrap().values_mut() {
        refuse_unknown(schema);
    }
    for (name, schema) in components["schemas"].as_object().unwrap() {
        for kind in kinds_of(schema) {
            let schema = json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "allOf": [{"$ref": format!("#/components/schemas/{name}")}],
                "components": components,
            });
            let version = api_version.rsplit('/').next().unwrap();
            let file = format!("{group}_{version}_{}.json", kind.to_lowercase());
            std::fs::write(folder.join(file), schema.to_string()).unwrap();
        }
    }
}

fn has_kinds(document: &Value, kinds: &BTreeSet<&str>) -> Result<(), String> {
    let schemas = document["components"]["schemas"].as_object().into_iter();
    let published: BTreeSet<&str> = schemas.flat_map(|schemas| schemas.values()).flat_map(kinds_of).collect();
    let missing: Vec<_> = kinds.difference(&published).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?} are missing")) }
}

/// The kinds that a schema is of.
fn kinds_of(schema: &Value) -> impl Iterator<Item = &str> {
    let kinds = schema["x-kubernetes-group-version-kind"].as_array();
    kinds.into_iter().flatten().map(|kind| text(kind, "/kind"))
}

fn group(api_version: &str) -> &str {
    api_version.split('/').next().unwrap_or_default()
}

/// Forbids properties that a schema does not name.
fn refuse_unknown(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let names_fields = fields.get("properties").is_some_and(Value::is_object);
            if names_fields && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            fields.values_mut().for_each(refuse_unknown);
        }
        Value::Array(items) => items.iter_mut().for_each(refuse_unknown),
        _ => {}
    }
}
