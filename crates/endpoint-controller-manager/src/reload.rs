//! Reloading the configuration file while the process runs.
//!
//! The file is read again when its content has changed, and at SIGHUP. Everything in it is checked as at the start. If only
//! fields have changed that can be reloaded, they are applied; if another one has, or the file is refused, nothing is, and
//! the log and the metrics say why. So the process always runs with one file as a whole. docs/configuration.md lists the
//! fields.

mod changes;
mod metrics;

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::signal::unix::Signal;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, info};

use self::changes::Changes;
use self::metrics::ReloadMetrics;
use crate::api_clients::RequestLimits;
use crate::config::{Config, ConfigFile};
use crate::logging;

/// The time between two looks at the file: as for certificates and tokens.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// The configuration as `/configz` and `/flagz` show it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) configz: Value,
    pub(crate) flags: Vec<(String, String)>,
}

impl Shown {
    fn of(config: &Config) -> Self {
        Self { configz: config.configz.clone(), flags: config.flags.clone() }
    }
}

/// Applies what changes in the configuration file.
pub(crate) struct Reloader {
    running: Config,
    limits: RequestLimits,
    shown: watch::Sender<Shown>,
    metrics: ReloadMetrics,
}

/// The outcome of a reload.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// These fields were applied; none if the file says what it said.
    Applied(Vec<&'static str>),
    /// These fields changed and need a restart; nothing was applied.
    NeedsRestart(Vec<&'static str>),
    Refused(String),
}

impl Reloader {
    /// For a process that starts with this configuration.
    pub(crate) fn new(config: &Config, limits: RequestLimits, registry: &mut Registry) -> Self {
        let metrics = ReloadMetrics::register(registry);
        if config.file.is_some() {
            metrics.succeeded(Timestamp::now());
        }
        Self { running: config.clone(), limits, shown: watch::Sender::new(Shown::of(config)), metrics }
    }

    /// The configuration in force.
    pub(crate) fn shown(&self) -> watch::Receiver<Shown> {
        self.shown.subscribe()
    }

    /// Reloads the file from now on when its content changes, and at each signal, if there is one.
    pub(crate) fn start(self, hangups: Option<Signal>, tasks: &mut JoinSet<String>, threads: &Handle) {
        if let Some((hangups, file)) = hangups.zip(self.running.file.clone()) {
            tasks.spawn_on(self.run(file, hangups), threads);
        }
    }

    /// Never ends.
    async fn run(mut self, file: ConfigFile, mut hangups: Signal) -> String {
        let mut looks = interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The content at the start is not known any more: the first look reads the file again.
        let mut seen = None;
        loop {
            let asked = tokio::select! {
                biased;
                _ = hangups.recv() => true,
                _ = looks.tick() => false,
            };
            let content = content(&file.path).await;
            if !asked && seen.as_ref() == Some(&content) {
                continue;
            }
            let is_first_look = seen.is_none() && !asked;
            seen = Some(content);
            let read = {
                let file = file.clone();
                tokio::task::spawn_blocking(move || file.read()).await
            };
            let read = read.unwrap_or_else(|panic| Err(panic.to_string()));
            let outcome = self.reload(read);
            if !(is_first_look && outcome == Outcome::Applied(Vec::new())) {
                self.report(&file.path, outcome);
            }
        }
    }

    /// Applies a configuration, all of its changes or none.
    fn reload(&mut self, read: Result<Config, String>) -> Outcome {
        let new = match read {
            Ok(new) => new,
            Err(reason) => return Outcome::Refused(reason),
        };
        let Changes { reloaded, need_restart } = Changes::between(&self.running.flags, &new.flags);
        if !need_restart.is_empty() {
            return Outcome::NeedsRestart(need_restart);
        }
        // A level that was set by `/debug/flags/v` stays unless the file changes it.
        if new.verbosity != self.running.verbosity
            && let Err(reason) = logging::set_verbosity(new.verbosity)
        {
            return Outcome::Refused(format!("cannot change the log level: {reason}"));
        }
        self.limits.set(new.rate);
        self.shown.send_replace(Shown::of(&new));
        self.running = new;
        Outcome::Applied(reloaded)
    }

    fn report(&self, file: &Path, outcome: Outcome) {
        let file = file.display();
        match outcome {
            Outcome::Applied(fields) => {
                info!(%file, fields = fields.join(","), "Reloaded the configuration file");
                self.metrics.succeeded(Timestamp::now());
                self.metrics.count(true);
            }
            Outcome::NeedsRestart(fields) => {
                error!(
                    %file,
                    fields = fields.join(","),
                    "Did not reload the configuration file: it changes fields that need a restart, and nothing of it is \
                     applied before"
                );
                self.metrics.failed(&fields);
                self.metrics.count(false);
            }
            Outcome::Refused(err) => {
                error!(%file, err, "Did not reload the configuration file, keeping the old configuration");
                self.metrics.failed(&[]);
                self.metrics.count(false);
            }
        }
    }
}

/// The content of the file; none if it cannot be read.
async fn content(file: &Path) -> Option<Vec<u8>> {
    let file = file.to_owned();
    tokio::task::spawn_blocking(move || std::fs::read(file).ok()).await.ok().flatten()
}

#[cfg(test)]
mod tests;
