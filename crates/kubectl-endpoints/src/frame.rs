//! The frame of all commands: one way from words to an exit code.
//!
//! ```text
//! words ─> parse ─> runtime ─> run ─> results on stdout, notes on stderr, an exit code
//! ```

use std::process::ExitCode;

use cli_runtime::usage::Usage;
use tokio::runtime::{Builder, Runtime};

use crate::exit::{Code, Failure};

/// A command with its arguments, checked.
pub(crate) trait Command: Sized {
    /// The number of threads that it runs on.
    fn threads(&self) -> usize {
        1
    }

    /// Runs it, and prints what it found.
    ///
    /// # Errors
    /// The reason for which there is no result.
    async fn run(self) -> Result<Code, Failure>;
}

/// Runs a command, or prints what its words ask for instead.
pub(crate) fn run(parsed: Result<impl Command, Usage>) -> ExitCode {
    let command = match parsed {
        Ok(command) => command,
        Err(usage) => return usage.report(),
    };
    let outcome = runtime(command.threads()).and_then(|runtime| {
        let outcome = runtime.block_on(command.run());
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(code) => code.into(),
        Err(failure) => failure.report(),
    }
}

/// A runtime of this number of threads.
///
/// # Errors
/// If threads cannot be started.
pub(crate) fn runtime(threads: usize) -> Result<Runtime, Failure> {
    let mut builder = if threads > 1 { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    let runtime = builder.worker_threads(threads).enable_all().build();
    runtime.map_err(|error| Failure::Access(format!("cannot start threads: {error}")))
}
