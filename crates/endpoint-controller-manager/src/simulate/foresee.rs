//! The changes that a takeover of a cluster would make, without files and output.

use std::collections::BTreeSet;
use std::time::Duration;

use endpoint_informers::lifecycle::Failing;
use kube_api::error_chain;
use serde_json::{Value, json};

use super::api::Api;
use super::controllers::Controllers;
use super::result;
use super::server::Server;
use crate::config::Config;
use crate::differences::{Change, changes};
use crate::input::object::text;

/// The time after which controllers that do not come to an end are given up.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// A copy of a cluster, in memory.
pub(crate) struct Foresight {
    server: Server,
    /// The namespaces of objects.
    used: BTreeSet<String>,
    /// The namespaces that were loaded.
    loaded: BTreeSet<String>,
}

/// The writes of the controllers until nothing is left to do.
#[derive(Debug)]
pub(crate) struct Foreseen {
    pub(crate) changes: Vec<Change>,
    /// The Services whose sync keeps failing.
    pub(crate) failing: Vec<String>,
}

impl Foresight {
    /// A cluster without objects.
    ///
    /// # Errors
    /// None that is known.
    pub(crate) fn new() -> Result<Self, String> {
        Ok(Self { server: Server::new()?, used: BTreeSet::new(), loaded: BTreeSet::new() })
    }

    /// Stores an object as it is.
    ///
    /// # Errors
    /// The reason for which its form is none of its kind's.
    pub(crate) fn load(&mut self, object: &Value) -> Result<(), String> {
        self.server.load(object)?;
        let (namespace, name) =
            (text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]));
        if text(object, &["kind"]) == "Namespace" {
            self.loaded.insert(name.to_owned());
        } else if !namespace.is_empty() && !self.used.contains(namespace) {
            self.used.insert(namespace.to_owned());
        }
        Ok(())
    }

    /// Runs the controllers of a configuration on the copy.
    ///
    /// # Errors
    /// A line about controllers that do not come to an end.
    pub(crate) async fn run(self, config: &Config) -> Result<Foreseen, String> {
        // Without them, nothing could be created; the caller may not be allowed to list them.
        for name in self.used.difference(&self.loaded) {
            let metadata = json!({"name": name, "uid": name});
            self.server.load(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))?;
        }
        let api = Api::new(self.server.client());
        let read = async || result::read(&api, "").await.map_err(|error| error.to_string());
        let before = read().await?;
        let controllers = Controllers::start(config, &self.server.client()).await;
        let controllers = controllers.map_err(|error| error_chain(&error))?;
        let running = Box::pin(tokio::time::timeout(LIMIT, controllers.run_until_quiet())).await;
        let failing =
            running.map_err(|_| format!("the controllers did not end within {} s", LIMIT.as_secs()))?;
        let failing = failing.map_err(|error| error_chain(&error))?;
        let line = |Failing { controller, key }| format!("the {controller} keeps failing for Service {key}");
        Ok(Foreseen {
            changes: changes(&before, &read().await?),
            failing: failing.into_iter().map(line).collect(),
        })
    }
}
