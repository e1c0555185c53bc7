//! The state of a new cluster, made once for all clusters of a process: the objects that the API server and the harness
//! write at the first start (roles, bindings, namespaces, priority classes) and the API server's certificate.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tokio::sync::OnceCell;

use super::servers::{CERTIFICATES, ETCD_DATA};
use super::{Cluster, ClusterOptions};

/// Files of a cluster that has been started once.
pub(super) struct Prepared {
    files: Vec<Contents>,
}

struct Contents {
    /// Relative to the cluster's folder.
    path: PathBuf,
    /// The content without the zeros at its end.
    bytes: Vec<u8>,
    length: u64,
}

impl Prepared {
    /// Starts a cluster, stops it, and keeps its files; the second call returns those of the first.
    pub(super) async fn get() -> &'static Self {
        static PREPARED: OnceCell<Prepared> = OnceCell::const_new();
        PREPARED
            .get_or_init(|| async {
                let mut cluster = Box::pin(Cluster::start_with(ClusterOptions::default(), None)).await;
                cluster.stop_servers().await;
                let mut files = Vec::new();
                for folder in [ETCD_DATA, CERTIFICATES] {
                    read(cluster.folder(), Path::new(folder), &mut files);
                }
                Self { files }
            })
            .await
    }

    /// Writes the files into the folder of another cluster.
    pub(super) fn write(&self, folder: &Path) {
        for Contents { path, bytes, length } in &self.files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            let mut file = File::create(&path).expect("a file of the cluster");
            file.write_all(bytes).expect("writing a file of the cluster");
            // etcd allocates its log in advance, 64 MB of zeros: as a sparse file they take no space.
            file.set_len(*length).expect("the length of a file");
        }
    }
}

fn read(root: &Path, folder: &Path, files: &mut Vec<Contents>) {
    for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
        let entry = entry.expect("an entry of a folder");
        let path = folder.join(entry.file_name());
        if entry.file_type().expect("the type of a file").is_dir() {
            read(root, &path, files);
        } else if path.extension().is_none_or(|extension| extension != "tmp") {
            let bytes = std::fs::read(root.join(&path)).expect("reading a file");
            let length = u64::try_from(bytes.len()).unwrap();
            files.push(Contents { path, bytes: without_zeros(bytes), length });
        }
    }
}

/// Cuts whole blocks of zeros; zeros in the last partial block may stay.
fn without_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    const BLOCK: usize = 4096;
    while bytes.len() >= BLOCK && bytes[bytes.len() - BLOCK..] == [0; BLOCK] {
        bytes.truncate(bytes.len() - BLOCK);
    }
    bytes
}
