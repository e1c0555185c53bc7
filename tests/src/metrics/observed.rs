//! A manager with its metrics endpoint.

use std::net::Ipv4Addr;
use std::process::ExitStatus;

use serde_json::json;
use tokio::net::TcpStream;

use crate::cluster::{self, Cluster, User};
use crate::manager::{Kind, Manager, ManagerOptions};
use crate::pages::{Page, Pages};
use crate::ports;
use crate::wait::{self, LIMIT};

/// A manager that serves its metrics, and a client for them.
#[derive(Debug)]
pub struct Observed {
    /// The manager.
    pub manager: Manager,
    pages: Pages,
}

impl Observed {
    /// Starts a manager with its server. Ours always serves; upstream gets the flags for it.
    pub async fn start(kind: Kind, cluster: &Cluster, options: &ManagerOptions) -> Self {
        match kind {
            Kind::Ours => {
                let manager = Manager::ours(cluster, options).await;
                let pages = manager.pages().clone();
                Self { manager, pages }
            }
            Kind::Upstream => Self::upstream(cluster, options).await,
        }
    }

    async fn upstream(cluster: &Cluster, options: &ManagerOptions) -> Self {
        let [port] = ports::free();
        let folder = cluster.folder().join("kube-controller-manager");
        let mut options = options.clone();
        // The last value of a flag is the effective one.
        options.flags.extend([
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", folder.display()),
            "--authorization-always-allow-paths=/healthz,/metrics".to_owned(),
        ]);
        let manager = Manager::upstream(cluster, &options);
        // As with the API server: the certificate, then the authority that signed it, written at the start. No request tells
        // whether both are there, because it would be counted in the metrics.
        let authority = folder.join("kube-controller-manager.crt");
        let kubeconfig = folder.join("scraper.kubeconfig");
        let pages = wait::until("kube-controller-manager to serve", LIMIT, || async {
            let written = std::fs::read_to_string(&authority).map_err(|error| error.to_string())?;
            if written.matches("-----END CERTIFICATE-----\n").count() < 2 {
                return Err("the file is not whole".to_owned());
            }
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| error.to_string())?;
            let server =
                json!({"server": format!("https://127.0.0.1:{port}"), "certificate-authority": authority});
            let config = cluster::kubeconfig(&server, &json!({"token": User::Admin.token()}));
            std::fs::write(&kubeconfig, config.to_string()).map_err(|error| error.to_string())?;
            cluster::client(&kubeconfig).await.map(Pages::by)
        })
        .await;
        Self { manager, pages }
    }

    /// Sends SIGTERM and waits for the exit.
    pub async fn stop(self) -> ExitStatus {
        self.manager.stop().await
    }

    /// The manager's pages, for a client that it lets in.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Gets the metrics.
    pub async fn scrape(&self) -> Page {
        wait::until("metrics", LIMIT, || async {
            match self.pages.get("/metrics").await? {
                page if page.status == 200 => Ok(page),
                page => Err(format!("{}: {}", page.status, page.text)),
            }
        })
        .await
    }
}
