//! Values parsed from files that are replaced from time to time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use tower::BoxError;
use tracing::{info, warn};

/// The time between two reads: a certificate or token that replaces an expired one must be in use before an elector
/// gives up (10 s by default). Upstream reads certificates every 5 minutes and at each new connection (client-go
/// `transport/cert_rotation.go`), tokens every 50 s (`transport/token_source.go`).
pub(crate) const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// The longest a request waits for a reload: a slow disk delays new credentials, not requests.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(1);

type Parse<T> = dyn Fn(&[Vec<u8>]) -> Result<T, BoxError> + Send + Sync;

/// A value parsed from the contents of files, and parsed again when they change. Clones share it.
///
/// Files are read on demand, 10 s or more after the last read. The caller waits for that for a second at most;
/// concurrent callers get the present value. Reading and parsing run on a blocking thread without a lock. While files
/// cannot be read or parsed, such as a certificate whose key is not written yet, the value stays, and the log has the
/// error.
///
/// Contents are compared, not times: mounted Secrets are replaced by a symbolic link.
pub(crate) struct ReloadingFile<T> {
    files: Arc<[PathBuf]>,
    parse: Arc<Parse<T>>,
    state: Arc<Mutex<State<T>>>,
}

struct State<T> {
    contents: Vec<Vec<u8>>,
    value: T,
    /// None during a reload.
    reload_at: Option<Instant>,
}

impl<T: Clone + Send + 'static> ReloadingFile<T> {
    /// Reads the files, which blocks. `parse` gets their contents in this order, or may read them itself.
    pub(crate) fn new(
        files: Vec<PathBuf>,
        parse: impl Fn(&[Vec<u8>]) -> Result<T, BoxError> + Send + Sync + 'static,
    ) -> Result<Self, BoxError> {
        let contents = read(&files)?;
        let state = State { value: parse(&contents)?, contents, reload_at: next_reload() };
        Ok(Self { files: files.into(), parse: Arc::new(parse), state: Arc::new(Mutex::new(state)) })
    }

    /// The present value, after a reload if one is due.
    pub(crate) async fn current(&self) -> T {
        if self.is_due() {
            let this = self.clone();
            // A reload that takes longer continues in the background.
            let _ = timeout(RELOAD_TIMEOUT, spawn_blocking(move || this.reload_and_log())).await;
        }
        self.state.lock().value.clone()
    }

    /// True if a reload is due. True for one caller only; the others do not wait for the files.
    fn is_due(&self) -> bool {
        let now = Instant::now();
        !self.files.is_empty() && self.state.lock().reload_at.take_if(|reload_at| *reload_at <= now).is_some()
    }

    fn reload_and_log(&self) {
        match self.reload() {
            Ok(false) => (),
            Ok(true) => info!(files = ?self.files, "Reloaded credentials"),
            Err(error) => {
                let err = crate::error_chain(&*error);
                warn!(files = ?self.files, err, "Failed to reload credentials, keeping the old ones");
            }
        }
        self.state.lock().reload_at = next_reload();
    }

    /// Returns whether the contents changed.
    fn reload(&self) -> Result<bool, BoxError> {
        // Read before `parse`, which may see newer contents if it reads the files itself; the next reload then sees a
        // change.
        let contents = read(&self.files)?;
        if self.state.lock().contents == contents {
            return Ok(false);
        }
        let value = (self.parse)(&contents)?;
        let mut state = self.state.lock();
        (state.contents, state.value) = (contents, value);
        Ok(true)
    }
}

impl<T> Clone for ReloadingFile<T> {
    fn clone(&self) -> Self {
        let (files, parse, state) =
            (Arc::clone(&self.files), Arc::clone(&self.parse), Arc::clone(&self.state));
        Self { files, parse, state }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "a value of the field")]
fn next_reload() -> Option<Instant> {
    Some(Instant::now() + RELOAD_INTERVAL)
}

/// An error in reading a file.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
struct Unreadable {
    path: PathBuf,
    source: std::io::Error,
}

fn read(files: &[PathBuf]) -> Result<Vec<Vec<u8>>, BoxError> {
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|source| Unreadable { path: path.clone(), source }.into())
    };
    files.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio::time::advance;

    use super::*;

    /// The resolution of timers.
    const TICK: Duration = Duration::from_millis(1);

    fn number(contents: &[Vec<u8>]) -> Result<u32, BoxError> {
        Ok(String::from_utf8(contents.concat())?.parse()?)
    }

    /// Open connections must not be replaced without need.
    #[tokio::test(start_paused = true)]
    async fn unchanged_files_are_parsed_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a");
        fs::write(&file, "1").unwrap();
        let one = || Arc::new(());
        let reloading = ReloadingFile::new(vec![file.clone()], move |_| Ok(one())).unwrap();
        let first = reloading.current().await;
        fs::remove_file(&file).unwrap();
        fs::write(&file, "1").unwrap();
        advance(RELOAD_INTERVAL).await;
        assert!(Arc::ptr_eq(&first, &reloading.current().await));
    }

    /// A disk that does not respond.
    #[tokio::test(start_paused = true)]
    async fn a_slow_reload_delays_requests_by_a_second_and_runs_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a");
        fs::write(&file, "1").unwrap();
        let (go_on, blocked) = std::sync::mpsc::channel::<()>();
        let (parses, blocked) = (Arc::new(Mutex::new(0)), Mutex::new(blocked));
        let counted = Arc::clone(&parses);
        let parse = move |contents: &[Vec<u8>]| {
            *counted.lock() += 1;
            if *counted.lock() > 1 {
                let _ = blocked.lock().recv();
            }
            number(contents)
        };
        let reloading = ReloadingFile::new(vec![file.clone()], parse).unwrap();
        fs::write(&file, "2").unwrap();
        advance(RELOAD_INTERVAL).await;
        // The clock stands still while something blocks.
        let (current, ()) = tokio::join!(reloading.current(), advance(RELOAD_TIMEOUT + TICK));
        assert_eq!(current, 1);
        while *parses.lock() < 2 {
            tokio::task::yield_now().await;
        }
        advance(10 * RELOAD_INTERVAL).await;
        assert_eq!((reloading.current().await, *parses.lock()), (1, 2), "still reloading");
        drop(go_on);
        while reloading.state.lock().reload_at.is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(reloading.current().await, 2);
    }
}
