//! `kubectl endpoints simulate`: what it prints for manifests, and its `--diff` on the dump of a cluster.

use std::fmt;
use std::path::Path;

use kube::Client;
use serde_json::{Value, json};

use crate::barrier;
use crate::requests;
use crate::tool;

/// The paths of the kinds in a dump.
const PATHS: [&str; 6] = [
    "/api/v1/namespaces",
    "/api/v1/nodes",
    "/api/v1/services",
    "/api/v1/pods",
    "/api/v1/endpoints",
    "/apis/discovery.k8s.io/v1/endpointslices",
];

/// A cluster as `kubectl get namespaces,nodes,services,… -A -o json` prints it, without the barrier's objects.
pub async fn dump(client: &Client) -> Value {
    let mut items = Vec::new();
    for path in PATHS {
        items.extend(requests::list(client, path).await);
    }
    items.retain(|item| item["metadata"]["namespace"] != barrier::NAMESPACE);
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// A change that our controllers would make.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// `create EndpointSlice test/web-`, as the program prints it.
    pub summary: String,
    /// The name of the Service, as far as the name of the object tells.
    pub service: String,
    /// The fields that change.
    pub fields: Value,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.summary, self.fields)
    }
}

/// The Endpoints and slices that follow from the manifests of a folder in a namespace, as `-o json` prints them.
///
/// # Panics
/// If the program fails.
pub fn printed(folder: &Path, namespace: &str) -> Vec<Value> {
    let folder = folder.display().to_string();
    let args = ["simulate", "-o", "json", "-n", namespace, "-f", &folder];
    let ended = tool::run(&args);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.json()["items"].as_array_mut().map(std::mem::take).expect("a list")
}

/// The changes that our controllers would make if they took over the cluster of a dump, with these flags.
///
/// # Panics
/// If the program fails, or its exit code does not fit its output.
pub fn changes(dump: &Value, flags: &[String]) -> Vec<Change> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dump.json");
    std::fs::write(&file, dump.to_string()).expect("writing the dump");
    let file = file.display().to_string();
    let args = ["simulate", "--diff", "-o", "json", "-f", &file];
    let args: Vec<&str> = args.into_iter().chain(flags.iter().map(String::as_str)).collect();
    let ended = tool::run(&args);
    let changes = ended.json().as_array().expect("a list").clone();
    // A sync that fails for a pod on a node that is gone, as it does in the cluster, says so in the exit code.
    let fails =
        ended.stderr.lines().any(|line| line.contains(" keeps failing ") && line.contains(" not found"));
    let expected = match (fails, changes.is_empty()) {
        (true, _) => 1,
        (false, true) => 0,
        (false, false) => 3,
    };
    assert_eq!(ended.code, Some(expected), "{changes:#?}\n{}", ended.stderr);
    changes.iter().map(change).collect()
}

fn change(change: &Value) -> Change {
    let text = |key: &str| change[key].as_str().unwrap_or_default();
    let (kind, name) = (text("kind"), format!("{}{}", text("name"), text("generateName")));
    let service =
        if kind == "EndpointSlice" { name.rsplit_once('-').map_or(&*name, |(name, _)| name) } else { &name };
    Change {
        summary: format!("{} {kind} {}/{name}", text("action"), text("namespace")),
        service: service.to_owned(),
        fields: change["fields"].clone(),
    }
}
