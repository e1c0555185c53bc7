//! The objects that the controllers read and write, in one pass: who wrote them, and what a takeover would change.

use std::time::Duration;

use cli_runtime::differences::Change;
use endpoint_controller_manager::config::Config;
use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::audit::{Finding, Options, audit};
use endpoint_diagnostics::snapshot::Kind;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::sleep;

use super::lasting::lasting;
use super::requests::unknown;
use crate::cluster::Cluster;
use crate::dry_run::{DryRun, Planned};
use crate::live::{Part, Resource, Selection, each};
use crate::preflight::facts::Takeover;
use crate::preflight::unknown::{Fact, Unknown};
use crate::preflight::writers::Writers;

/// The rule of `audit` about what a start deletes.
const DELETED_AT_START: &str = "endpoints-without-service";
const ACTION: &str = "plan a takeover";

/// The number of times that a cluster is read, at most.
const PASSES: u32 = 5;

/// The field managers of the controllers' objects, and what a takeover would change. The lists are not of one moment, and a
/// controller may be late: what is found is looked for again, and only what is the same each time counts.
pub(super) async fn objects(
    cluster: &Cluster,
    config: &Config,
    confirm_after: Duration,
) -> (Fact<Writers>, Fact<Takeover>) {
    let (mut writers, mut latest) = pass(cluster, config).await;
    for _ in 1..PASSES {
        let earlier = match latest {
            Ok(pass) if !pass.planned.changes.is_empty() && !confirm_after.is_zero() => pass,
            last => return (writers, last.map(Pass::takeover)),
        };
        sleep(confirm_after).await;
        (writers, latest) = pass(cluster, config).await;
        latest = latest.map(|pass| pass.confirming(&earlier));
    }
    (writers, latest.map(Pass::takeover))
}

/// One pass over a cluster.
struct Pass {
    planned: Planned,
    /// The findings about Endpoints that a start deletes.
    findings: Vec<Finding>,
    unreadable: Vec<String>,
    services: usize,
}

async fn pass(cluster: &Cluster, config: &Config) -> (Fact<Writers>, Fact<Pass>) {
    let mut reading = Reading::new(config);
    let (mut writers, mut all) = (Ok(()), Ok(()));
    for kind in Kind::ALWAYS {
        let resource = Resource { kind, namespace: None };
        let before = (reading.writers.clone(), reading.unreadable.len());
        let take = |part: Part<'_>| match part {
            Part::Object(json) => reading.take(&resource, json),
            Part::Restart => reading.forget(kind, &before),
        };
        let outcome = each(&cluster.client, &resource, &Selection::All, take).await;
        let Err(error) = outcome else { continue };
        if kind == Kind::Namespaces && error.is_forbidden() {
            continue;
        }
        let unknown = unknown(&error, &format!("list {}", kind.resource()));
        if matches!(kind, Kind::EndpointSlices | Kind::Endpoints) {
            writers = writers.and(Err(unknown.clone()));
        }
        all = all.and(Err(unknown));
    }
    let writers = writers.map(|()| reading.writers.clone());
    match all {
        Ok(()) => (writers, reading.plan(config).await),
        Err(unknown) => (writers, Err(unknown)),
    }
}

/// The objects of one pass.
struct Reading {
    dry_run: DryRun,
    /// Services, Endpoints and Namespaces only: what the rule needs.
    snapshot: Snapshot,
    writers: Writers,
    unreadable: Vec<String>,
}

impl Reading {
    fn new(config: &Config) -> Self {
        let others = [Kind::Pods, Kind::Nodes, Kind::EndpointSlices, Kind::ResourceClaims];
        let snapshot = Snapshot::new(Timestamp::now(), others);
        Self { dry_run: DryRun::new(config), snapshot, writers: Writers::default(), unreadable: vec![] }
    }

    fn take(&mut self, resource: &Resource, json: &str) {
        if let Err(reason) = self.try_take(resource, json) {
            self.unreadable.push(format!("one of the {} cannot be read: {reason}", resource.kind.resource()));
        }
    }

    fn try_take(&mut self, resource: &Resource, json: &str) -> Result<(), String> {
        let mut object: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let (api_version, kind) = resource.head();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), api_version.into());
            fields.insert("kind".to_owned(), kind.into());
        }
        self.writers.add(&object);
        if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            // Half of an object, and no controller reads it.
            metadata.remove("managedFields");
        }
        if matches!(resource.kind, Kind::Services | Kind::Endpoints | Kind::Namespaces) {
            resource.readable(json).into_iter().for_each(|object| self.snapshot.upsert(object));
        }
        self.dry_run.add(&object)
    }

    /// Goes back to what was read before a kind.
    fn forget(&mut self, kind: Kind, (writers, unreadable): &(Writers, usize)) {
        self.dry_run.forget(kind);
        self.snapshot.replace(kind, vec![]);
        self.writers.clone_from(writers);
        self.unreadable.truncate(*unreadable);
    }

    async fn plan(self, config: &Config) -> Fact<Pass> {
        let mut findings = audit(&self.snapshot, &Options::default()).findings;
        findings.retain(|finding| finding.rule == DELETED_AT_START);
        let services = self.snapshot.services().count();
        let planned = self.dry_run.plan(config).await.map_err(|reason| Unknown::failed(ACTION, &reason))?;
        Ok(Pass { planned, findings, unreadable: self.unreadable, services })
    }
}

impl Pass {
    /// This pass without what an earlier one did not find.
    fn confirming(mut self, earlier: &Self) -> Self {
        self.planned.changes = lasting(self.planned.changes, &earlier.planned.changes);
        self
    }

    fn takeover(self) -> Takeover {
        let Self { planned, findings, unreadable, services } = self;
        let mut takeover = Takeover { services, problems: unreadable, ..Takeover::default() };
        takeover.problems.extend(planned.failing.into_iter().map(|(_, line)| line));
        for change in &planned.changes {
            let is_about = |finding: &&Finding| {
                let object = &finding.object;
                let (name, kind) = ((&object.namespace, &object.name), object.kind.name());
                change.action.verb() == "delete"
                    && change.kind == kind
                    && name == (&change.namespace, &change.name)
            };
            match findings.iter().find(is_about) {
                Some(finding) => takeover.deletions.push(format!("{}: {}", finding.object, finding.message)),
                None => takeover.changes.push(line(change)),
            }
        }
        takeover
    }
}

/// A change with its first fields.
fn line(change: &Change) -> String {
    const SHOWN: usize = 3;
    let Change { action, kind, namespace, name, is_generated, fields } = change;
    let star = if *is_generated { "*" } else { "" };
    let mut paths: Vec<&str> = fields.iter().take(SHOWN).map(|field| field.path.as_str()).collect();
    if fields.len() > SHOWN {
        paths.push("…");
    }
    let fields = if paths.is_empty() { String::new() } else { format!(" ({})", paths.join(", ")) };
    format!("{} {kind} {namespace}/{name}{star}{fields}", action.verb())
}
