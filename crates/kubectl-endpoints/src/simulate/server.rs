//! The API server of the simulation.

use std::net::SocketAddr;

use embedded_apiserver::{ApiServer, Tls};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::token;

/// The user of the kubeconfig.
const USER: &str = "system:admin";

/// An API server in this process.
pub(crate) struct Server {
    api: ApiServer,
    /// That of clients from the network: other users of the machine have no business here.
    token: String,
}

impl Server {
    /// A server without objects: a dump holds those that a real one makes at its start.
    ///
    /// # Errors
    /// A line, if the system has no random numbers.
    pub(crate) fn new() -> Result<Self, String> {
        let token = token::random()?;
        let server = ApiServer::builder().first_objects(false).token(&*token, USER).require_token();
        Ok(Self { api: server.build(), token })
    }

    /// Stores an object of a cluster as it is, with its status and metadata.
    pub(crate) fn load(&self, object: &Value) -> Result<(), String> {
        self.api.load(object).map_err(|error| error.to_string())
    }

    /// A client in this process.
    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(self.api.clone(), "default")
    }

    /// Listens for clients with the token, over HTTPS.
    pub(crate) async fn listen(&self, address: SocketAddr) -> Result<Listener, String> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| format!("--listen: cannot listen at {address}: {error}"))?;
        let address = listener.local_addr().map_err(|error| format!("--listen: {error}"))?;
        let tls = Tls::for_loopback().map_err(|error| format!("cannot make a certificate: {error}"))?;
        let url = format!("https://{address}");
        let kubeconfig = embedded_apiserver::kubeconfig(&self.token, &url, Some(tls.certificate()));
        Ok(Listener { server: self.api.clone(), socket: listener, tls, url, kubeconfig })
    }
}

/// A server that is reached over the network.
pub(crate) struct Listener {
    server: ApiServer,
    socket: TcpListener,
    tls: Tls,
    pub(crate) url: String,
    /// The text of a kubeconfig, without which the server answers no client.
    pub(crate) kubeconfig: String,
}

impl Listener {
    /// Serves until `shutdown` completes.
    pub(crate) async fn run(self, shutdown: impl Future<Output = ()>) {
        self.server.serve(self.socket, Some(self.tls), shutdown).await;
    }
}
