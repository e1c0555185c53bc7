//! One run: the API server with the input, and the controllers on it.

use std::time::Duration;

use cli_runtime::input::{self, source};
use endpoint_diagnostics::ServiceReport;

use super::api::Api;
use super::command::Simulation;
use super::controllers::Controllers;
use super::failures::Failures;
use super::idle::Failing;
use super::server::Server;
use super::{load, result, skipped};
use crate::exit::{Code, Failure};
use crate::progress::Progress;

/// The time after which controllers that do not become idle are given up. They take a fraction of a second, or minutes
/// for the dump of a huge cluster.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// The end of a simulation.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// For stdout.
    pub(crate) text: String,
    /// For stderr.
    pub(crate) notes: Vec<String>,
    pub(crate) code: Code,
}

/// An API server that holds the input.
pub(crate) struct Session {
    pub(crate) server: Server,
    pub(crate) api: Api,
    /// Lines about the input.
    pub(crate) notes: Vec<String>,
    failures: Failures,
}

impl Session {
    /// Reads the input and stores it.
    ///
    /// # Errors
    /// The error in the input.
    pub(crate) async fn load(
        simulation: &Simulation,
        failures: Failures,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let sources =
            source::read(&simulation.flags.inputs, simulation.flags.recursive).map_err(Failure::Input)?;
        let objects = input::objects(&sources).map_err(Failure::Input)?;
        let namespace = simulation.flags.namespace.as_deref().unwrap_or("default");
        let (server, notes) = load::load(&sources, objects, namespace, progress).await?;
        let api = Api::new(server.client());
        Ok(Self { server, api, notes, failures })
    }

    /// Makes the controllers, and fills their caches.
    pub(crate) async fn controllers(
        &self,
        simulation: &Simulation,
        progress: &Progress,
    ) -> Result<Controllers, Failure> {
        progress.step(|| "Filling the caches of the controllers".to_owned());
        let controllers = Controllers::start(&simulation.config, &self.server.client()).await?;
        let idle = controllers.idle.clone();
        progress.step(move || format!("Running the controllers, {} Services queued", idle.queued()));
        Ok(controllers)
    }

    /// Runs the controllers to their end, and adds notes about what has no endpoints. Returns the reports on all Services, and
    /// false if some that are shown keep failing.
    async fn settle(
        &mut self,
        simulation: &Simulation,
        progress: &Progress,
    ) -> Result<(Vec<ServiceReport>, bool), Failure> {
        let controllers = self.controllers(simulation, progress).await?;
        let running = Box::pin(tokio::time::timeout(LIMIT, controllers.run_until_idle()));
        let mut failing = running.await.map_err(|_| unfinished())??;
        let namespace = scope(simulation);
        failing.retain(|failing| namespace.is_empty() || *failing.key.namespace == *namespace);
        progress.step(|| "Reading the result".to_owned());
        let reports = result::reports(&self.api, &simulation.config).await?;
        self.notes.extend(skipped::lines(&reports));
        self.notes.extend(failing.iter().map(|failing| unsettled(failing, &self.failures)));
        Ok((reports, failing.is_empty()))
    }

    /// Runs the controllers, and shows what there is then.
    pub(crate) async fn print(
        mut self,
        simulation: &Simulation,
        progress: &Progress,
    ) -> Result<Outcome, Failure> {
        let (reports, is_settled) = Box::pin(self.settle(simulation, progress)).await?;
        let text = result::text(
            &self.api,
            reports,
            scope(simulation),
            simulation.flags.output,
            simulation.flags.all,
        )
        .await?;
        let code = if is_settled { Code::Done } else { Code::Incomplete };
        Ok(Outcome { text, notes: self.notes, code })
    }
}

/// The namespace to show; empty for all.
fn scope(simulation: &Simulation) -> &str {
    simulation.flags.namespace.as_deref().unwrap_or_default()
}

fn unsettled(Failing { controller, key }: &Failing, failures: &Failures) -> String {
    let reason = failures.reason(controller, &key.to_string());
    let reason = if reason.is_empty() { "see the log above" } else { &reason };
    format!("Error: the {controller} keeps failing for Service {key}: {reason}")
}

fn unfinished() -> Failure {
    Failure::Input(format!("the controllers did not end within {} minutes", LIMIT.as_secs() / 60))
}
