//! The program: command line, log and signals.

use std::pin::pin;
use std::process::ExitCode;

use clap::Parser as _;
use controller_kit::signals::TerminationSignals;
use kube_api::error_chain;
use tokio::sync::oneshot;
use tracing::{Level, error, info};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::options::Options;
use crate::process::{self, Failure};
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

/// Runs the controller, with sources that `customize` adds, by the flags of the command line until SIGTERM or SIGINT. Failures are
/// logged; a second signal while the process stops is one.
pub async fn main(customize: impl FnOnce(PodNetworks) -> PodNetworks) -> ExitCode {
    let options = Options::parse();
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(log.with_filter(filter(options.verbosity))).init();
    let mut signals = match TerminationSignals::listen() {
        Ok(signals) => signals,
        Err(failed) => {
            error!(err = %failed, "Cannot handle signals");
            return ExitCode::FAILURE;
        }
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let running = Box::pin(process::run(options, customize, async { drop(stopped.await) }));
    exit_code(&until_signals(running, stop, async || signals.received().await).await)
}

/// The exit code of a process that ended so. A failure is logged with its causes.
fn exit_code(ended: &Result<(), Failure>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            error!(err = error_chain(&**failed), "Ended");
            ExitCode::FAILURE
        }
    }
}

/// Waits for the end of a process, which begins to stop when `stop` is dropped: at the first signal. Fails at a second one.
async fn until_signals(
    running: impl Future<Output = Result<(), Failure>>,
    stop: oneshot::Sender<()>,
    mut signal: impl AsyncFnMut() -> &'static str,
) -> Result<(), Failure> {
    let mut running = pin!(running);
    tokio::select! {
        biased;
        ended = &mut running => return ended,
        first = signal() => info!(signal = first, "Received a signal; shutting down"),
    }
    drop(stop);
    tokio::select! {
        biased;
        ended = running => ended,
        second = signal() => Err(format!("received a second signal ({second}); exiting without waiting").into()),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::io;
    use std::sync::Arc;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot listen")]
    struct Unbound(#[source] io::Error);

    #[test]
    fn a_failure_is_logged_with_its_causes() {
        let (lines, writer) = io::pipe().unwrap();
        let layer = tracing_subscriber::fmt::layer().with_writer(Arc::new(writer));
        let failed = Unbound(io::Error::other("the port is in use"));
        let code = tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            exit_code(&Err(failed.into()))
        });
        assert_eq!(code, ExitCode::FAILURE);
        let text = io::read_to_string(lines).unwrap();
        assert!(text.contains("err=\"cannot listen: the port is in use\""), "{text}");
    }

    /// Waits for the end of a process that takes `stopping` to stop, and receives these signals.
    async fn ended(stopping: impl Future<Output = ()>, signals: &[&'static str]) -> Result<(), String> {
        let (stop, stopped) = oneshot::channel::<()>();
        let running = async {
            drop(stopped.await);
            stopping.await;
            Ok(())
        };
        let mut signals = signals.iter();
        let signal = async || match signals.next() {
            Some(signal) => *signal,
            None => pending().await,
        };
        until_signals(running, stop, signal).await.map_err(|failed| failed.to_string())
    }

    #[tokio::test]
    async fn a_second_signal_ends_a_process_that_does_not_stop() {
        assert_eq!(ended(async {}, &["SIGTERM"]).await, Ok(()));
        let second = "received a second signal (SIGINT); exiting without waiting";
        assert_eq!(ended(pending(), &["SIGTERM", "SIGINT"]).await, Err(second.to_owned()));
    }
}
