//! Certificates that change while the program runs.

use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Manager, ManagerOptions};
use tests::wait::{self, LIMIT};

use super::tls::{Authority, Pair};

/// Makes the program serve with these files.
pub(crate) fn serving_with(pair: &Pair) -> ManagerOptions {
    let flags = vec![
        format!("--tls-cert-file={}", pair.certificate.display()),
        format!("--tls-private-key-file={}", pair.key.display()),
    ];
    ManagerOptions { flags, ..ManagerOptions::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_certificate_is_served_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let pair = old.server(folder.path(), "serving");
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let mut manager = Manager::ours(&cluster, &serving_with(&pair)).await;
    old.connect(manager.port()).await.unwrap();
    assert!(new.connect(manager.port()).await.is_err(), "the new certificate is not in use yet");

    new.server(folder.path(), "serving");
    wait::until("the new certificate", LIMIT, || new.connect(manager.port())).await;
    assert!(old.connect(manager.port()).await.is_err(), "the old one is no longer served");

    std::fs::write(&pair.certificate, "nonsense").unwrap();
    manager.process().says("Unable to load serving certificates").await;
    new.connect(manager.port()).await.unwrap();
    assert_eq!(manager.get("/healthz").await, (200, "ok".to_owned()));
}
