//! The state of a new cluster, made once for all clusters of this machine: the objects that the API server and the harness
//! write at the first start (roles, bindings, namespaces, priority classes) and the API server's certificate.
//!
//! It lies in the target folder, so that each test finds it, whichever process made it.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::servers::{CERTIFICATES, ETCD_DATA};
use super::{Cluster, ClusterOptions, copy_folder};
use crate::binaries;

/// The age at which it is made again. Its certificate is valid for a year.
const STALE: Duration = Duration::from_hours(24);

/// The part of it that is written last: its existence says that the rest is whole.
const WHOLE: &str = "whole";

/// Files of a cluster that has been started once.
pub(super) struct Prepared {
    folder: PathBuf,
    /// Shared: nothing makes the files again while they are copied.
    _lock: File,
}

impl Prepared {
    /// Starts a cluster, stops it, and keeps its files; any later call, of any process, returns the same.
    pub(super) async fn get() -> Self {
        let folder = binaries::profile().join("tests").join(format!("cluster-{:016x}", servers_hash()));
        fs::create_dir_all(&folder).expect("a folder in the target folder");
        loop {
            let lock = locked(&folder, File::lock_shared).await;
            if is_fresh(&folder.join(WHOLE)) {
                return Self { folder, _lock: lock };
            }
            drop(lock);
            // Others wait here for the one that makes it.
            let _making = locked(&folder, File::lock).await;
            if !is_fresh(&folder.join(WHOLE)) {
                make(&folder).await;
            }
        }
    }

    /// Writes the files into the folder of another cluster.
    pub(super) fn write(self, folder: &Path) {
        for part in [ETCD_DATA, CERTIFICATES] {
            copy_folder(&self.folder.join(part), &folder.join(part));
        }
    }
}

/// The locked file of the folder. Waits on another thread: whoever has the lock may be another cluster of the same task.
async fn locked(folder: &Path, lock: fn(&File) -> std::io::Result<()>) -> File {
    let file = File::create(folder.join("lock")).expect("a lock file");
    let locked = tokio::task::spawn_blocking(move || lock(&file).map(|()| file));
    locked.await.expect("a task").expect("locking the prepared cluster")
}

async fn make(folder: &Path) {
    // It was made for other servers of the same names, or by a process that was killed meanwhile.
    for part in [ETCD_DATA, CERTIFICATES] {
        match fs::remove_dir_all(folder.join(part)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("removing {part}: {error}"),
            _ => {}
        }
    }
    let mut cluster = Box::pin(Cluster::start_with(ClusterOptions::default(), None)).await;
    cluster.stop_servers().await;
    for part in [ETCD_DATA, CERTIFICATES] {
        copy_folder(&cluster.folder().join(part), &folder.join(part));
    }
    File::create(folder.join(WHOLE)).expect("a file in the target folder");
}

fn is_fresh(file: &Path) -> bool {
    let modified = fs::metadata(file).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age < STALE))
}

/// Other servers write other objects.
fn servers_hash() -> u64 {
    let mut hasher = DefaultHasher::new();
    for program in [binaries::servers().etcd(), binaries::servers().kube_apiserver()] {
        let metadata = fs::metadata(&program).expect("a server's program");
        (program, metadata.len(), metadata.modified().expect("the time of a file")).hash(&mut hasher);
    }
    hasher.finish()
}
