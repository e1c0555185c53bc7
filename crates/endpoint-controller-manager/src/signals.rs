//! SIGTERM, SIGINT and SIGUSR2.

use std::future::pending;

use controller_kit::signals::TerminationSignals;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tracing::warn;

/// Approvals of a takeover, by SIGUSR2. Clones share them.
///
/// An approval is for the takeover that waits for one. Kept until later, it would let through what no operator has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Approvals(watch::Sender<()>);

impl Approvals {
    /// Receives the signal from now on. Processes without a takeover gate do too: by default the signal ends a process, and the
    /// Lease would not be released.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let approvals = Self::default();
        let (mut signals, approve) = (signal(SignalKind::user_defined2())?, approvals.clone());
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                approve.approve();
            }
        });
        Ok(approvals)
    }

    fn approve(&self) {
        if self.0.receiver_count() == 0 {
            warn!("Ignored SIGUSR2: no takeover waits for an approval");
        } else {
            self.0.send_replace(());
        }
    }

    /// Changes with each approval from now on.
    pub(crate) fn awaited(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }
}

/// Receives the requests to stop while it exists; without it signals end the process at once.
pub enum StopSignals {
    /// Those of the system.
    System(TerminationSignals),
    /// One request by a channel; `None` after it.
    Channel(Option<oneshot::Receiver<()>>),
}

impl StopSignals {
    /// Those of the system from now on.
    pub fn listen() -> std::io::Result<Self> {
        TerminationSignals::listen().map(Self::System)
    }

    /// A message counts as SIGTERM.
    pub(crate) fn channel(terminate: oneshot::Receiver<()>) -> Self {
        Self::Channel(Some(terminate))
    }

    /// Waits for a signal and returns its name.
    pub async fn received(&mut self) -> &'static str {
        match self {
            Self::System(signals) => signals.received().await,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_is_for_what_waits_for_it() {
        let approvals = Approvals::default();
        approvals.approve();
        let first = approvals.awaited();
        assert!(!first.has_changed().unwrap(), "before there was a takeover");
        approvals.approve();
        assert!(first.has_changed().unwrap());
        assert!(!approvals.awaited().has_changed().unwrap(), "of another takeover");
        drop(first);
        approvals.approve();
        assert!(!approvals.awaited().has_changed().unwrap(), "between two takeovers");
    }
}
