//! The API server of the simulation.

use std::net::SocketAddr;

use embedded_apiserver::{ApiServer, Tls, kubeconfig};
use serde_json::Value;
use tokio::net::TcpListener;

/// An API server in this process.
pub(crate) struct Server(ApiServer);

impl Server {
    /// A server without objects: a dump holds those that a real one makes at its start.
    ///
    /// # Errors
    /// None that is known: the options are valid.
    pub(crate) fn new() -> Result<Self, String> {
        let server = ApiServer::builder().first_objects(false).build();
        server.map(Self).map_err(|error| format!("cannot make an API server: {error}"))
    }

    /// Stores an object of a cluster as it is, with its status and metadata.
    pub(crate) fn load(&self, object: &Value) -> Result<(), String> {
        self.0.load(object).map_err(|error| error.to_string())
    }

    /// A client in this process.
    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(self.0.clone(), "default")
    }

    /// Listens for other clients, over HTTPS.
    pub(crate) async fn listen(&self, address: SocketAddr) -> Result<Listener, String> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| format!("--listen: cannot listen at {address}: {error}"))?;
        let address = listener.local_addr().map_err(|error| format!("--listen: {error}"))?;
        let tls = Tls::for_loopback().map_err(|error| format!("cannot make a certificate: {error}"))?;
        Ok(Listener { server: self.0.clone(), socket: listener, tls, url: format!("https://{address}") })
    }
}

/// A server that is reached over the network.
pub(crate) struct Listener {
    server: ApiServer,
    socket: TcpListener,
    tls: Tls,
    pub(crate) url: String,
}

impl Listener {
    /// The text of a kubeconfig.
    pub(crate) fn kubeconfig(&self) -> String {
        kubeconfig(&self.url, Some(self.tls.certificate()))
    }

    /// Serves until `shutdown` completes.
    pub(crate) async fn run(self, shutdown: impl Future<Output = ()>) {
        self.server.serve(self.socket, Some(self.tls), shutdown).await;
    }
}
