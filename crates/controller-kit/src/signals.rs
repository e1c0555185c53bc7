//! The signals that ask a process to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives SIGTERM, by which a kubelet ends a container, and SIGINT. Once it listens, neither ends the process by itself.
#[derive(Debug)]
pub struct TerminationSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl TerminationSignals {
    /// Receives the signals from now on.
    ///
    /// # Errors
    ///
    /// The signals cannot be handled.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for a signal and returns its name.
    pub async fn received(&mut self) -> &'static str {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
