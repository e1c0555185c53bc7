//! The mode `shadow`: the process with a policy that compares in place of each sync.

mod command;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use cli_runtime::printing;
use kube_api::error_chain;
use kube_api::time::sleep;
use tracing::info;

use crate::shadow::Shadow;
use crate::{logging, manager};
use command::{Command, Format};

pub(crate) use command::{NAME, command};

/// The exit code if differences outlasted the grace period.
const LASTING: u8 = 3;

/// Runs the subcommand with the words after its name.
pub(crate) fn main(words: &[OsString]) -> ExitCode {
    let command = match command::parse(words) {
        Ok(command) => command,
        Err(usage) => return usage.report(),
    };
    let Command { config, grace, length, format } = command;
    let log_format = config.log_format;
    let mut logs = logging::init(log_format, config.verbosity);
    let shadow = Arc::new(Shadow::new(grace));
    let end = async {
        sleep(length).await;
        info!("The time of --for is over; exiting");
    };
    let outcome = manager::run_here(config, logs.dropped(), Some(Arc::clone(&shadow)), end);
    let report = shadow.report();
    let text = report.as_ref().map(|report| match format {
        Format::Text => report.text(),
        Format::Json => printing::json(&report.json()),
    });
    let printed = text.map_or(Ok(true), |text| printing::print(&text));
    let failure = match (&outcome, &report, printed) {
        (Err(error), ..) => error_chain(error),
        (Ok(()), None, _) => "nothing was compared: the run ended before the caches were synced".to_owned(),
        (Ok(()), Some(_), Err(error)) => format!("cannot write to stdout: {error}"),
        (Ok(()), Some(report), _) if report.lasting() > 0 => return LASTING.into(),
        (Ok(()), Some(_), _) => return ExitCode::SUCCESS,
    };
    logs.write_failure(log_format, &failure);
    ExitCode::FAILURE
}
