//! SIGTERM, SIGINT, SIGUSR2 and SIGHUP.

use std::future::pending;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{oneshot, watch};

/// Becomes true at SIGUSR2, which without this would end the process.
pub(crate) fn approval() -> std::io::Result<watch::Receiver<bool>> {
    let mut signals = signal(SignalKind::user_defined2())?;
    let (approve, approved) = watch::channel(false);
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            approve.send_replace(true);
        }
    });
    Ok(approved)
}

/// Requests to reload the configuration file. Without this SIGHUP ends the process.
pub(crate) fn hangups() -> std::io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// Receives the requests to stop while it exists; without it signals end the process at once.
pub(crate) enum StopSignals {
    /// Those of the system.
    System { terminate: Signal, interrupt: Signal },
    /// One request by a channel; `None` after it.
    Channel(Option<oneshot::Receiver<()>>),
}

impl StopSignals {
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self::System {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// A message counts as SIGTERM.
    pub(crate) fn channel(terminate: oneshot::Receiver<()>) -> Self {
        Self::Channel(Some(terminate))
    }

    /// Waits for a signal and returns its name.
    pub(crate) async fn received(&mut self) -> &'static str {
        match self {
            Self::System { terminate, interrupt } => tokio::select! {
                biased;
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            },
            Self::Channel(channel) => {
                if let Some(terminate) = channel {
                    let sent = terminate.await;
                    *channel = None;
                    if sent.is_ok() {
                        return "SIGTERM";
                    }
                }
                pending().await
            }
        }
    }
}
