//! What is made from files that are replaced from time to time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use tower::BoxError;
use tracing::{info, warn};

/// How old what was read may be: a certificate or token that replaces one which is no longer accepted must be in use
/// before an elector gives up (10 s by default). Upstream reads certificates every 5 minutes and at each new connection
/// (client-go `transport/cert_rotation.go`), tokens every 50 s (`transport/token_source.go`).
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(10);

/// How long a request waits for files that are read again: a slow disk delays what is in them, not everything else.
const PATIENCE: Duration = Duration::from_secs(1);

type Make<T> = dyn Fn(&[Vec<u8>]) -> Result<T, BoxError> + Send + Sync;

/// Something made from the contents of files, and made again once they are others. Clones share it.
///
/// Looks when it is asked for, 10 s after the last look or later. The one who asks waits for that for a second at most; the
/// others use what there is. Files are read and things made on a thread that may block, outside of any lock. As long as files cannot be read or make no sense,
/// such as a certificate whose key is not there yet, it stays what it was, and the log says why.
///
/// Compares contents, not times: mounted Secrets are swapped by a symbolic link.
pub(crate) struct ReloadingFile<T> {
    files: Arc<[PathBuf]>,
    make: Arc<Make<T>>,
    state: Arc<Mutex<State<T>>>,
}

struct State<T> {
    contents: Vec<Vec<u8>>,
    made: T,
    /// None while somebody looks.
    look_at: Option<Instant>,
}

impl<T: Clone + Send + 'static> ReloadingFile<T> {
    /// Reads the files for the first time, which blocks. `make` gets their contents in this order, or may read them itself.
    pub(crate) fn new(
        files: Vec<PathBuf>,
        make: impl Fn(&[Vec<u8>]) -> Result<T, BoxError> + Send + Sync + 'static,
    ) -> Result<Self, BoxError> {
        let contents = read(&files)?;
        let state = State { made: make(&contents)?, contents, look_at: next_look() };
        Ok(Self { files: files.into(), make: Arc::new(make), state: Arc::new(Mutex::new(state)) })
    }

    /// What the files amount to now.
    pub(crate) async fn current(&self) -> T {
        if self.is_due() {
            let this = self.clone();
            // A look that takes longer goes on without this.
            let _ = timeout(PATIENCE, spawn_blocking(move || this.look_and_tell())).await;
        }
        self.state.lock().made.clone()
    }

    /// Whether it is time to look, which is only said to one who asks: nobody else waits for the files.
    fn is_due(&self) -> bool {
        let now = Instant::now();
        !self.files.is_empty() && self.state.lock().look_at.take_if(|look_at| *look_at <= now).is_some()
    }

    fn look_and_tell(&self) {
        match self.look() {
            Ok(false) => (),
            Ok(true) => info!(files = ?self.files, "Loaded new credentials"),
            Err(error) => {
                let err = crate::error_chain(&*error);
                warn!(files = ?self.files, err, "Keeping the credentials that were read before");
            }
        }
        self.state.lock().look_at = next_look();
    }

    /// Returns whether something changed.
    fn look(&self) -> Result<bool, BoxError> {
        // Read before `make`, which may see newer contents if it reads them again; then there is a difference next time.
        let contents = read(&self.files)?;
        if self.state.lock().contents == contents {
            return Ok(false);
        }
        let made = (self.make)(&contents)?;
        let mut state = self.state.lock();
        (state.contents, state.made) = (contents, made);
        Ok(true)
    }
}

impl<T> Clone for ReloadingFile<T> {
    fn clone(&self) -> Self {
        let (files, make, state) = (Arc::clone(&self.files), Arc::clone(&self.make), Arc::clone(&self.state));
        Self { files, make, state }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "a value of the field")]
fn next_look() -> Option<Instant> {
    Some(Instant::now() + LOOK_EVERY)
}

/// A file cannot be read.
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

    fn number(contents: &[Vec<u8>]) -> Result<u32, BoxError> {
        Ok(String::from_utf8(contents.concat())?.parse()?)
    }

    #[tokio::test(start_paused = true)]
    async fn new_contents_are_used_after_10_s_and_invalid_ones_never() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|name| folder.path().join(name));
        let write = |index: usize, text| fs::write(&files[index], text).unwrap();
        write(0, "1");
        assert!(ReloadingFile::new(files.to_vec(), number).is_err(), "a file is missing");
        write(1, "x");
        assert!(ReloadingFile::new(files.to_vec(), number).is_err(), "no number");
        write(1, "2");
        let renewed = ReloadingFile::new(files.to_vec(), number).unwrap();
        assert_eq!(renewed.current().await, 12);

        write(1, "3");
        advance(LOOK_EVERY / 2).await;
        assert_eq!(renewed.current().await, 12, "not looked yet");
        advance(LOOK_EVERY / 2).await;
        assert_eq!(renewed.clone().current().await, 13);
        assert_eq!(renewed.current().await, 13, "clones share it");

        write(1, "x");
        advance(LOOK_EVERY).await;
        assert_eq!(renewed.current().await, 13);
        fs::remove_file(&files[1]).unwrap();
        advance(LOOK_EVERY).await;
        assert_eq!(renewed.current().await, 13);
        write(1, "4");
        advance(LOOK_EVERY).await;
        assert_eq!(renewed.current().await, 14);
    }

    /// A client whose connections are open must not be replaced for nothing.
    #[tokio::test(start_paused = true)]
    async fn unchanged_files_are_parsed_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "1").unwrap();
        let one = || Arc::new(());
        let renewed = ReloadingFile::new(vec![file.clone()], move |_| Ok(one())).unwrap();
        let first = renewed.current().await;
        fs::remove_file(&file).unwrap();
        fs::write(&file, "1").unwrap();
        advance(LOOK_EVERY).await;
        assert!(Arc::ptr_eq(&first, &renewed.current().await));
    }

    /// As with a disk that does not answer.
    #[tokio::test(start_paused = true)]
    async fn a_slow_reload_delays_requests_by_a_second_and_runs_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "1").unwrap();
        let (go_on, blocked) = std::sync::mpsc::channel::<()>();
        let (looks, blocked) = (Arc::new(Mutex::new(0)), Mutex::new(blocked));
        let counted = Arc::clone(&looks);
        let make = move |contents: &[Vec<u8>]| {
            *counted.lock() += 1;
            if *counted.lock() > 1 {
                let _ = blocked.lock().recv();
            }
            number(contents)
        };
        let renewed = ReloadingFile::new(vec![file.clone()], make).unwrap();
        fs::write(&file, "2").unwrap();
        advance(LOOK_EVERY).await;
        // The clock stands still while something blocks.
        tokio::time::resume();
        assert_eq!(renewed.current().await, 1);
        tokio::time::pause();
        advance(10 * LOOK_EVERY).await;
        assert_eq!((renewed.current().await, *looks.lock()), (1, 2), "still looking");
        drop(go_on);
        while renewed.state.lock().look_at.is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(renewed.current().await, 2);
    }
}
