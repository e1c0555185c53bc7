//! `deploy/chart` with real helm: its objects are those of the kustomizations, wrong values are refused, and releases are
//! installed, upgraded and rolled back on a real API server.

mod documents;
mod installations;
mod objects;
mod options;
mod preflight;
mod releases;
mod shadow;
mod values;

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tests::binaries;
use tests::requests::documents;

use super::IMAGE;
use super::manifests::{folder, text};

/// The chart's folder.
fn chart() -> PathBuf {
    folder().join("chart")
}

/// Runs helm 4, with values unless they are null, and returns what it prints. An image and the consent to write are added, unless
/// the values say otherwise.
fn helm(args: &[&str], values: &Value) -> Result<String, String> {
    helm_of("helm", args, values)
}

/// Runs one of the tools `helm`, which is of version 4, and `helm3`, in the same way.
fn helm_of(tool: &str, args: &[&str], values: &Value) -> Result<String, String> {
    let required = json!({"image": {"repository": IMAGE}, "builtInControllersDisabled": true});
    let files = [&required, values].map(|values| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), values.to_string()).unwrap();
        file
    });
    let mut command = Command::new(binaries::tool(tool));
    // No configuration or plugins of the user who runs the test, and no cache of what an earlier API server at the same port
    // has.
    let home = tempfile::tempdir().unwrap();
    for variable in ["HOME", "HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME"] {
        command.env(variable, home.path());
    }
    command.env_remove("KUBECONFIG").args(args);
    if !values.is_null() {
        // Later ones count.
        for file in &files {
            command.arg("--values").arg(file.path());
        }
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if status.success() { Ok(text(stdout)) } else { Err(text(stdout) + &text(stderr)) }
}

/// The objects that the chart renders in a namespace.
fn template(namespace: &str, values: &Value) -> Vec<Value> {
    template_of("helm", namespace, values)
}

/// The same by one of the tools `helm` and `helm3`.
fn template_of(tool: &str, namespace: &str, values: &Value) -> Vec<Value> {
    let chart = chart();
    // Helm 3 that is not built by its own scripts knows no version of Kubernetes.
    let version = ["--kube-version", "1.36.0"];
    let args =
        [&["template", "release", chart.to_str().unwrap(), "--namespace", namespace], &version[..]].concat();
    let rendered = helm_of(tool, &args, values).unwrap_or_else(|error| panic!("{values}: {error}"));
    documents(&rendered).into_iter().filter(|object| !object.is_null()).collect()
}

/// The only object of a kind.
fn only(objects: &[Value], kind: &str) -> Value {
    let found: Vec<&Value> = objects.iter().filter(|object| text(object, "/kind") == kind).collect();
    assert_eq!(found.len(), 1, "{kind}");
    found[0].clone()
}
