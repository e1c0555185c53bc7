//! Two replicas, which a stand-in for the kubelet restarts, and a shadow.

use std::path::PathBuf;
use std::time::Duration;

use tests::binaries;
use tests::cluster::{Cluster, User};
use tests::pages::Pages;
use tests::ports;
use tests::process::Process;
use tests::shadow;
use tokio::time::timeout;

/// A replica at a fixed port.
pub(crate) struct Replica {
    port: u16,
    folder: PathBuf,
    args: Vec<String>,
    process: Option<Process>,
    pages: Pages,
}

impl Replica {
    /// A replica that does not run yet. It asks the API server about its clients, as in a cluster.
    pub(crate) fn new(cluster: &Cluster, number: usize) -> Self {
        let kubeconfig = cluster.kubeconfig(User::EndpointControllers);
        let args = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"]
            .map(|flag| format!("--{flag}={}", kubeconfig.display()));
        Self::with_args(cluster, &format!("replica-{number}"), args.to_vec())
    }

    /// A shadow that does not run yet, and leaves Services with a label to other controllers, as the replicas do not.
    pub(crate) fn shadow(cluster: &Cluster) -> Self {
        let args = vec![
            "shadow".to_owned(),
            format!("--kubeconfig={}", cluster.kubeconfig(shadow::USER).display()),
            "--authentication-skip-lookup=true".to_owned(),
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics".to_owned(),
            "--feature-gates=EndpointControllerNameWellKnownLabel=true".to_owned(),
            "--grace=2s".to_owned(),
        ];
        Self::with_args(cluster, "shadow", args)
    }

    fn with_args(cluster: &Cluster, name: &str, mut args: Vec<String>) -> Self {
        let [port] = ports::free();
        let folder = cluster.folder().join(name);
        std::fs::create_dir_all(&folder).expect("creating a folder");
        args.extend([
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--cert-dir={}", folder.display()),
        ]);
        Self { port, folder, args, process: None, pages: Pages::anonymous(port) }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The certificate that it signed itself; none yet shortly after the first start.
    pub(crate) fn certificate(&self) -> Result<String, String> {
        let path = |extension| self.folder.join(format!("endpoint-controller-manager.{extension}"));
        // The key is written last. Without it, the next start would make another pair.
        let read = |path: PathBuf| std::fs::read_to_string(path).map_err(|error| error.to_string());
        let key = read(path("key"))?;
        if key.contains("-----END") { read(path("crt")) } else { Err("half of a key".to_owned()) }
    }

    /// Starts the process if there is none. Called all the time.
    pub(crate) fn supervise(&mut self) {
        if self.process.as_mut().is_some_and(|process| process.exited().is_some()) {
            self.process = None;
        }
        self.process.get_or_insert_with(|| {
            let program = binaries::endpoint_controller_manager();
            Process::start("endpoint-controller-manager", &program, &self.folder, self.args.clone())
        });
    }

    /// Probes the process, as the manifests of deploy/ ask the kubelet to. Only probes update `kubernetes_healthcheck`.
    pub(crate) async fn probe(&self) {
        for page in ["/livez", "/readyz"] {
            // A failure is for the metrics to show.
            let _ = timeout(Duration::from_secs(1), self.pages.get(page)).await;
        }
    }

    /// Gives the next process a flag, or takes it away.
    pub(crate) fn toggle(&mut self, flag: &str) {
        match self.args.iter().position(|arg| arg == flag) {
            Some(place) => drop(self.args.remove(place)),
            None => self.args.push(flag.to_owned()),
        }
    }

    /// Kills the process, which releases nothing.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }
}
