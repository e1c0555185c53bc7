//! A process of this program inside another one, such as a simulation.
//!
//! It is the process that [`main`](crate::main) runs, from its command line to the release of the Lease. Only its
//! context is given instead of taken from the system: connections, the runtime and signals. Its tasks and its wall
//! clock have the seam [`controller_kit::environment`].

use std::error::Error;
use std::ffi::OsString;
use std::sync::Arc;

use cli_runtime::usage::Usage;
use prometheus_client::registry::Registry;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::config::Config;
use crate::manager::{self, ProcessContext};
use crate::options;
use crate::runtimes::Handles;
use crate::signals::{Approvals, StopSignals};

pub use crate::api_clients::Connect;
pub use crate::controller_set::ControllerState;

/// A checked configuration. Clones are cheap compared with parsing.
#[derive(Clone, Debug)]
pub struct Configuration(Config);

impl Configuration {
    /// Reads a command line, which begins with the program's name. The error is what the program would print instead of running.
    pub fn parse<T: Into<OsString>>(words: impl IntoIterator<Item = T>) -> Result<Self, String> {
        options::parse(words.into_iter().skip(1))
            .map(Self)
            .map_err(|(Usage::Print(text) | Usage::Error(text))| text)
    }

    /// The same, where a Service with at least this number of pods has a sync cache. The default is
    /// [`MIN_PODS`](endpoint_controllers_common::MIN_PODS); histories with few pods need less.
    #[must_use]
    pub fn with_sync_caches_from(mut self, pods: usize) -> Self {
        self.0.endpoints.sync_cache_min_pods = pods;
        self.0.endpointslice.sync_cache_min_pods = pods;
        self
    }
}

/// A process that runs until it is asked to stop.
#[derive(Debug)]
pub struct Process {
    /// Receives the metrics once the caches are synced. Only without a server (`--secure-port=0`), which would serve them.
    pub metrics: oneshot::Sender<Arc<Registry>>,
    /// Receives the state of each controller before they run.
    pub states: oneshot::Sender<Vec<ControllerState>>,
    /// Asks the process to stop, as SIGTERM does; dropped unused, nothing does.
    pub terminate: oneshot::Receiver<()>,
}

impl Process {
    /// Runs the process on the runtime of the caller. All its requests go through clients made by `connect`.
    pub async fn run(
        self,
        Configuration(config): Configuration,
        connect: Connect,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let runtime = Handle::current();
        let handles = Handles { control: runtime.clone(), server: runtime.clone(), work: runtime };
        let stop = StopSignals::channel(self.terminate);
        let context = ProcessContext {
            handles,
            connect,
            logs: None,
            metrics: Some(self.metrics),
            controller_states: Some(self.states),
            shadow: None,
            approvals: Approvals::default(),
        };
        Ok(manager::run(config, context, stop).await?)
    }
}
