//! The program: command line, log and signals.

use std::process::ExitCode;

use clap::Parser as _;
use endpoint_informers::manager::terminated;
use tracing::{Level, error};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::options::Options;
use crate::process;
use crate::reconciler::PodNetworks;

/// The crates whose messages are the program's own.
const OWN_CRATES: [&str; 5] =
    ["pod_network_controller", "endpoint_informers", "controller_kit", "kube_api", "component_server"];

/// The filter for a level of klog, as in endpoint-controller-manager.
fn filter(verbosity: u8) -> Targets {
    let own = match verbosity {
        0..=3 => Level::INFO,
        4..=5 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let libraries = if verbosity >= 8 { Level::DEBUG } else { Level::ERROR };
    Targets::new().with_default(libraries).with_targets(OWN_CRATES.map(|name| (name, own)))
}

/// Runs the controller, with sources that `customize` adds, by the flags of the command line until a signal. Failures are logged.
pub async fn main(customize: impl FnOnce(PodNetworks) -> PodNetworks) -> ExitCode {
    let options = Options::parse();
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(log.with_filter(filter(options.verbosity))).init();
    let terminated = match terminated() {
        Ok(terminated) => terminated,
        Err(failed) => {
            error!(err = %failed, "Cannot handle signals");
            return ExitCode::FAILURE;
        }
    };
    match Box::pin(process::run(options, customize, terminated)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            error!(err = %failed, "Ended");
            ExitCode::FAILURE
        }
    }
}
