//! The first writes of the controllers, without any: their plans over a cache that is filled from lists or files.
//!
//! ```text
//! objects ─> Cache ─> Controller::pending_writes ─> Change
//! ```
//!
//! No API server takes part. So two things are not known: the time of the change that a write would carry
//! (`endpoints.kubernetes.io/last-change-trigger-time`), and whether the API server would accept the write. It refuses new
//! objects in a namespace that is being deleted, which is not a failure of a sync, so they are left out.

mod incomplete;

use std::collections::BTreeSet;
use std::sync::Arc;

use cli_runtime::differences::{Action, Change};
use cli_runtime::input::object::{field, text};
use controller_kit::key::ObjectKey;
use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::controller_set::first_writes::FirstWrite;
use endpoint_controller_manager::controllers::Controller;
use endpoint_controller_manager::{controller_set, gates};
use endpoint_diagnostics::snapshot::Kind;
use endpoint_informers::cache::{Cache, CachedResource, Delta};
use endpoint_informers::kinds::{CachedEndpoints, CachedSlice, DelegatedService};
use endpointslice::well_known::{ENDPOINT_CONTROLLER_NAME, LAST_CHANGE_TRIGGER_TIME};
use endpointslice::{Interner, Node, Pod, Service};
use kube_api::{ApiClient, connect, error_chain};
use serde_json::Value;

/// A cluster in a cache.
pub(crate) struct DryRun {
    cache: Arc<Cache>,
    interner: Interner,
    /// Services with the label belong to other controllers.
    delegates: bool,
    /// Namespaces that are being deleted.
    terminating: BTreeSet<String>,
}

/// The writes that the controllers would make first.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// By kind, namespace and name.
    pub(crate) changes: Vec<Change>,
    /// Services whose sync keeps failing, each with a line about it.
    pub(crate) failing: Vec<(ObjectKey, String)>,
}

impl DryRun {
    /// A cluster without objects, for the controllers of a configuration.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            cache: Arc::default(),
            interner: Interner::default(),
            delegates: config.gates.enabled(gates::ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL),
            terminating: BTreeSet::new(),
        }
    }

    /// Adds an object of a cluster. Objects of other kinds are ignored.
    ///
    /// # Errors
    /// The reason for which its form is none of its kind's. The plans know that it exists.
    pub(crate) fn add(&mut self, object: &Value) -> Result<(), String> {
        match text(object, &["kind"]) {
            "Service" if self.delegates && label(object, ENDPOINT_CONTROLLER_NAME).is_some() => {
                self.insert::<DelegatedService>(object)
            }
            "Service" => self.insert::<Service>(object),
            "Pod" => self.insert::<Pod>(object),
            "Node" => self.insert::<Node>(object),
            "Endpoints" => self.insert::<CachedEndpoints>(object),
            "EndpointSlice" => self.insert::<CachedSlice>(object),
            "Namespace" => {
                if field(object, &["metadata", "deletionTimestamp"]).is_some() {
                    self.terminating.insert(text(object, &["metadata", "name"]).to_owned());
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Removes the objects of a kind, whose list begins again.
    pub(crate) fn forget(&mut self, kind: Kind) {
        match kind {
            Kind::Services => {
                self.clear::<Service>();
                self.clear::<DelegatedService>();
            }
            Kind::Pods => self.clear::<Pod>(),
            Kind::Nodes => self.clear::<Node>(),
            Kind::Endpoints => self.clear::<CachedEndpoints>(),
            Kind::EndpointSlices => self.clear::<CachedSlice>(),
            Kind::Namespaces => self.terminating.clear(),
            Kind::ResourceClaims => {}
        }
    }

    fn clear<K: CachedResource>(&self) {
        self.cache.begin_list::<K>();
        self.cache.finish_list::<K>("");
    }

    fn insert<K: CachedResource>(&mut self, object: &Value) -> Result<(), String> {
        let (delta, outcome) = match K::from_json(&object.to_string(), &mut self.interner) {
            Ok(object) => (Delta::Upsert(object), Ok(())),
            Err(error) => {
                let name = |field| text(object, &["metadata", field]).to_owned();
                (
                    Delta::Unreadable { namespace: name("namespace"), name: name("name") },
                    Err(error.to_string()),
                )
            }
        };
        self.cache.apply([delta], "", true);
        outcome
    }

    /// Plans with the controllers of a configuration.
    ///
    /// # Errors
    /// None that is known.
    pub(crate) async fn plan(self, config: &Config) -> Result<Planned, String> {
        // Plans send nothing.
        let nowhere = kube::Config::new(http::Uri::from_static("http://127.0.0.1:1"));
        let connection = connect(&nowhere).map_err(|error| error_chain(&error))?;
        let client = |part| ApiClient::new(connection.clone(), config.encoding, part).read_only();
        let controllers = controller_set::prepare_all(config, &self.cache, client);
        let first = controllers.first_writes.dry_run(usize::MAX).await;
        let mut changes: Vec<Change> = first.shown.into_iter().map(change).collect();
        changes.retain(|change| {
            change.action != Action::Create || !self.terminating.contains(&change.namespace)
        });
        changes.sort_by(|a, b| (&a.kind, &a.namespace, &a.name).cmp(&(&b.kind, &b.namespace, &b.name)));
        let publishes = config.controllers.contains(&Controller::EndpointSlice);
        let failing = if publishes { incomplete::lines(&self.cache) } else { Vec::new() };
        Ok(Planned { changes, failing })
    }
}

fn label<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    field(object, &["metadata", "labels", name])
}

fn change(FirstWrite { key, write, .. }: FirstWrite) -> Change {
    let (before, after) = write.sides();
    // A new object may leave its namespace to the path of the request.
    let namespace = key.namespace.to_string();
    Change { namespace, ..Change::of_write(before, after, LAST_CHANGE_TRIGGER_TIME) }
}

#[cfg(test)]
mod tests;
