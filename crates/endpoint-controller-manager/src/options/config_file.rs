//! The configuration file.
//!
//! It has the shape of upstream's `KubeControllerManagerConfiguration` (`kubecontrollermanager.config.k8s.io/v1alpha1`),
//! which upstream shows under `/configz` and reads from no file. Each field with an effect is the value of a flag.
//! docs/reference/configuration.md describes it.

use std::path::Path;

use cli_runtime::input::position;
use serde_yaml::Value as Yaml;

use super::flag::{AUTO, Flag, Kind};
use super::groups::all;

/// The group of the configuration.
pub(crate) const GROUP: &str = "kubecontrollermanager.config.k8s.io";
pub(crate) const API_VERSION: &str = "kubecontrollermanager.config.k8s.io/v1alpha1";
pub(crate) const KIND: &str = "KubeControllerManagerConfiguration";

/// The contents of a file.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) fields: Vec<Field>,
    /// Paths of sections and fields that have no flag.
    pub(super) without_effect: Vec<String>,
}

/// One field of a file.
#[derive(Debug)]
pub(super) struct Field {
    /// Its path, such as `Generic.LeaderElection.leaseDuration`.
    pub(super) path: &'static str,
    /// The line of the file, from 1.
    pub(super) line: Option<usize>,
    pub(super) flag: &'static Flag,
    /// Its value as the flag takes it.
    pub(super) text: String,
}

/// The reason for which a file is refused.
#[derive(Debug)]
struct Fault {
    /// The path of a field; none if it is about the whole file, or says the place itself.
    field: Option<String>,
    reason: String,
}

impl Fault {
    fn of(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: Some(field.into()), reason: reason.into() }
    }

    fn of_file(reason: impl Into<String>) -> Self {
        Self { field: None, reason: reason.into() }
    }
}

/// Reads a file, YAML or JSON. The error is one line that begins with the file and the line in it.
pub(super) fn read(path: &Path) -> Result<File, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("--config: cannot read {}: {error}", path.display()))?;
    let line = |field: &str| position::line(&text, 1, "", field);
    let mut file = parse(&text).map_err(|Fault { field, reason }| match field {
        Some(field) => format!("{}: {field}: {reason}", place(path, line(&field))),
        None => format!("{}: {reason}", path.display()),
    })?;
    for field in &mut file.fields {
        field.line = line(field.path);
    }
    Ok(file)
}

/// A file and a line in it, as compilers write them.
pub(super) fn place(path: &Path, line: Option<usize>) -> String {
    let path = path.display();
    line.map_or_else(|| path.to_string(), |line| format!("{path}:{line}"))
}

fn parse(text: &str) -> Result<File, Fault> {
    let document: Yaml = serde_yaml::from_str(text).map_err(|error| Fault::of_file(error.to_string()))?;
    let mut file = File::default();
    let Yaml::Mapping(document) = document else {
        return Err(Fault::of_file(format!("must be an object of kind {KIND}")));
    };
    for (name, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match document.get(name) {
            Some(Yaml::String(found)) if found == expected => {}
            Some(found) => return Err(Fault::of(name, format!("must be {expected}, is {}", shown(found)))),
            None => return Err(Fault::of(name, format!("must be {expected}"))),
        }
    }
    for (key, value) in &document {
        match key.as_str() {
            Some("apiVersion" | "kind") => {}
            _ => file.take("", key, value)?,
        }
    }
    Ok(file)
}

impl File {
    /// Takes one field, or all fields of a section.
    fn take(&mut self, section: &str, key: &Yaml, value: &Yaml) -> Result<(), Fault> {
        let not_a_name = || Fault::of_file(format!("{} is not a name", path_of(section, &shown(key))));
        let name = key.as_str().ok_or_else(not_a_name)?;
        let path = path_of(section, name);
        if let Some((flag, path)) = fields().find(|(_, field)| *field == path) {
            return self.set(flag, path, value);
        }
        if IGNORED.contains(&path.as_str()) {
            self.without_effect.push(path);
            return Ok(());
        }
        if !is_section(&path) {
            return Err(Fault::of(path, "unknown field"));
        }
        match value {
            Yaml::Null => Ok(()),
            Yaml::Mapping(fields) => fields.iter().try_for_each(|(key, value)| self.take(&path, key, value)),
            other => Err(Fault::of(path, format!("must be an object, is {}", shown(other)))),
        }
    }

    /// Null is the same as absent, as in Go.
    fn set(&mut self, flag: &'static Flag, path: &'static str, value: &Yaml) -> Result<(), Fault> {
        let text = match (flag.kind, value) {
            (_, Yaml::Null) => return Ok(()),
            (Kind::Bool(_), Yaml::Bool(on)) => on.to_string(),
            (
                Kind::Int(_) | Kind::Count { .. } | Kind::Float(_) | Kind::FloatOrAuto(_) | Kind::Level(_),
                Yaml::Number(number),
            ) => number.to_string(),
            (Kind::FloatOrAuto(_), Yaml::String(text)) if text == AUTO => text.clone(),
            (
                Kind::Text(_) | Kind::Path(_) | Kind::Checked(_) | Kind::Parsed(_) | Kind::Duration(_),
                Yaml::String(text),
            ) => text.clone(),
            (Kind::List(_), Yaml::Sequence(items)) => {
                let quoted = |item: &Yaml| Some(format!("\"{}\"", item.as_str()?.replace('"', "\"\"")));
                let texts: Option<Vec<String>> = items.iter().map(quoted).collect();
                let wrong = || Fault::of(path, format!("must be a list of strings, is {}", shown(value)));
                texts.ok_or_else(wrong)?.join(",")
            }
            (kind, other) => {
                return Err(Fault::of(path, format!("must be {}, is {}", expected(kind), shown(other))));
            }
        };
        self.fields.push(Field { path, line: None, flag, text });
        Ok(())
    }
}

fn path_of(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

/// The flags that a file can set, and their fields.
fn fields() -> impl Iterator<Item = (&'static Flag, &'static str)> {
    all().filter_map(|flag| Some((flag, flag.key?)))
}

/// The type of a field for a message. Durations are strings.
fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool(_) => "true or false",
        Kind::Int(_) | Kind::Count { .. } | Kind::Float(_) | Kind::Level(_) => "a number",
        Kind::FloatOrAuto(_) => "a number or auto",
        Kind::List(_) | Kind::Repeated(_) => "a list of strings",
        Kind::Text(_)
        | Kind::Path(_)
        | Kind::Checked(_)
        | Kind::Parsed(_)
        | Kind::Duration(_)
        | Kind::Quantity => "a string",
    }
}

fn is_section(path: &str) -> bool {
    fields().any(|(_, field)| field.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// A value for a message, as short JSON.
fn shown(value: &Yaml) -> String {
    const LONGEST: usize = 60;
    let text = serde_json::to_string(value).unwrap_or_else(|_| "not JSON".to_owned());
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain("…".chars()).collect()
}

/// Fields and sections of upstream, also of older releases, that have no flag here. They are accepted whole, so that the output
/// of upstream's `/configz` can be a file.
const IGNORED: &[&str] = &[
    "Generic.Port",
    "Generic.Address",
    "Generic.ClientConnection.acceptContentTypes",
    "Generic.LeaderMigration",
    "KubeCloudShared.CloudProvider",
    "KubeCloudShared.ExternalCloudVolumePlugin",
    "KubeCloudShared.AllowUntaggedCloud",
    "KubeCloudShared.RouteReconciliationPeriod",
    "KubeCloudShared.NodeMonitorPeriod",
    "KubeCloudShared.ClusterName",
    "KubeCloudShared.ClusterCIDR",
    "KubeCloudShared.AllocateNodeCIDRs",
    "KubeCloudShared.CIDRAllocatorType",
    "KubeCloudShared.ConfigureCloudRoutes",
    "KubeCloudShared.NodeSyncPeriod",
    "AttachDetachController",
    "CSRSigningController",
    "DaemonSetController",
    "DeploymentController",
    "StatefulSetController",
    "DeprecatedController",
    "EphemeralVolumeController",
    "GarbageCollectorController",
    "HPAController",
    "JobController",
    "CronJobController",
    "LegacySATokenCleaner",
    "NamespaceController",
    "NodeIPAMController",
    "NodeLifecycleController",
    "PersistentVolumeBinderController",
    "PodGCController",
    "ReplicaSetController",
    "ReplicationController",
    "ResourceQuotaController",
    "SAController",
    "ServiceController",
    "TTLAfterFinishedController",
    "ValidatingAdmissionPolicyStatusController",
    "DeviceTaintEvictionController",
    "DisruptionController",
    "ResourceClaimController",
];

#[cfg(test)]
mod tests;
