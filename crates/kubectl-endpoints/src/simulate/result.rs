//! The EndpointSlices and Endpoints on the API server, and what they lack.

use cli_runtime::differences::{Action, Change};
use endpoint_controller_manager::config::Config;
use endpoint_diagnostics::ServiceReport;
use serde_json::Value;

use super::api::{Api, ApiError};
use super::explained;
use super::print;
use crate::explain;
use crate::format::Format;
use crate::objects::collection;

/// The kinds that explain the result.
const GIVEN: [&str; 4] = ["services", "pods", "nodes", "namespaces"];

/// The kinds of the result: version, resource, and the name as `kubectl get` prints it.
const KINDS: [(&str, &str, &str); 2] = [
    ("discovery.k8s.io/v1", "endpointslices", "endpointslice.discovery.k8s.io/"),
    ("v1", "endpoints", "endpoints/"),
];

/// Reads the EndpointSlices and Endpoints of a namespace; of all if it is empty.
pub(crate) async fn read(api: &Api, namespace: &str) -> Result<Vec<Value>, ApiError> {
    let mut all = Vec::new();
    for (api_version, plural, _) in KINDS {
        all.extend(api.list(api_version, plural, namespace).await?);
    }
    Ok(all)
}

/// Reads the Services and pods of a namespace, of all if it is empty, and all nodes and namespaces.
async fn given(api: &Api, namespace: &str) -> Result<Vec<Value>, ApiError> {
    let mut all = Vec::new();
    for plural in GIVEN {
        let namespace = if matches!(plural, "nodes" | "namespaces") { "" } else { namespace };
        all.extend(api.list("v1", plural, namespace).await?);
    }
    Ok(all)
}

/// The reports on all Services, for the controllers of a configuration.
pub(crate) async fn reports(api: &Api, config: &Config) -> Result<Vec<ServiceReport>, ApiError> {
    let mut objects = given(api, "").await?;
    objects.extend(read(api, "").await?);
    Ok(explained::reports(objects, config))
}

/// The result as text: documents, or what became of each Service, and the slices and Endpoints below.
pub(crate) async fn text(
    api: &Api,
    mut reports: Vec<ServiceReport>,
    namespace: &str,
    format: Format,
    all: bool,
) -> Result<String, ApiError> {
    if format.is_document() {
        let mut objects = if all { given(api, namespace).await? } else { vec![] };
        objects.extend(read(api, namespace).await?);
        return Ok(print::document(&print::list(objects), format));
    }
    reports.retain(|report| namespace.is_empty() || report.namespace == namespace);
    let mut tables = explain::details(&reports);
    for (api_version, plural, prefix) in KINDS {
        let table = api.table(&collection(api_version, plural, namespace)).await?;
        if table.get("rows").and_then(Value::as_array).is_some_and(|rows| !rows.is_empty()) {
            tables.push(print::table(&table, prefix, namespace.is_empty(), format == Format::Wide));
        }
    }
    Ok(tables.join("\n"))
}

/// Changes as text.
pub(crate) fn changes(changes: &[Change], format: Format) -> String {
    if format.is_document() {
        print::document(&print::changes_tree(changes), format)
    } else {
        print::changes(changes)
    }
}

/// A line with the number of changes.
pub(crate) fn count(changes: &[Change]) -> String {
    let of = |action| changes.iter().filter(|change| change.action == action).count();
    let (create, update, delete) = (of(Action::Create), of(Action::Update), of(Action::Delete));
    match changes.len() {
        0 => "The controllers would change nothing".to_owned(),
        _ => format!("The controllers would create {create}, update {update} and delete {delete} objects"),
    }
}
