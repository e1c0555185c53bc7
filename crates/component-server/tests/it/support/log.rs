//! The log lines of a test.

use std::fs;
use std::sync::LazyLock;

use tempfile::NamedTempFile;
use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;

/// With two subscribers, each thread asks all of them whether they want a line that is new.
static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(tracing_subscriber::registry()));

/// The lines that this thread logs with `-v=2`.
pub(crate) struct Log(NamedTempFile);

impl Log {
    /// Collects lines until the guard is dropped.
    pub(crate) fn collect() -> (Self, DefaultGuard) {
        LazyLock::force(&OTHER);
        let file = NamedTempFile::new().unwrap();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(file.reopen().unwrap());
        let subscriber = tracing_subscriber::registry().with(LevelFilter::INFO).with(layer);
        (Self(file), tracing::subscriber::set_default(subscriber))
    }

    /// All lines so far.
    pub(crate) fn text(&self) -> String {
        fs::read_to_string(self.0.path()).unwrap()
    }
}
