//! Listening and serving.

mod activity;
mod connection;
mod reload;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::authentication::Authenticator;
use crate::authorization::Authorizer;
use crate::connections::Connections;
use crate::endpoints::Endpoints;
use crate::filter::Filter;
use crate::listener;
use crate::log_limit::LogLimit;
use crate::options::{Limits, ServingOptions};
use crate::review::{AuthenticationApi, AuthorizationApi};
use crate::tls::{TlsError, TlsPolicy};
use connection::{Http, Server};
use reload::Certificates;

/// How long to wait after the system had no resources for a new connection.
const NO_RESOURCES: Duration = Duration::from_secs(1);

/// An HTTPS server that has its address and its certificate, and serves nothing yet.
pub struct SecureServer {
    listener: TcpListener,
    certificates: Certificates,
    http: Http,
    limits: Limits,
    reload_interval: Duration,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Options that make no sense; each error names its flag.
    #[error("{}", .0.join(", "))]
    Options(Vec<String>),
    /// The address cannot be had.
    #[error("failed to create listener: failed to listen on {address}")]
    Listen {
        /// Which one.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The certificate cannot be served.
    #[error("unable to load the serving certificate")]
    Certificate(#[from] TlsError),
}

impl SecureServer {
    /// Listens on `--bind-address` and `--secure-port`, and reads or makes the certificate. None if the port is 0.
    pub async fn bind(options: &ServingOptions) -> Result<Option<Self>, ServeError> {
        let errors = options.validate();
        if !errors.is_empty() {
            return Err(ServeError::Options(errors));
        }
        let port = u16::try_from(options.secure_port).unwrap_or_default();
        if port == 0 {
            return Ok(None);
        }
        let address = SocketAddr::new(options.bind_address, port);
        let listener = listener::listen(address, options.permit_port_sharing)
            .map_err(|source| ServeError::Listen { address, source })?;
        Self::with_listener(listener, options).await.map(Some)
    }

    /// The same on a socket that listens already; address and port of the options are not used.
    pub async fn with_listener(listener: TcpListener, options: &ServingOptions) -> Result<Self, ServeError> {
        let policy = TlsPolicy::new(options).map_err(|error| ServeError::Options(vec![error]))?;
        for warning in &policy.warnings {
            warn!("{warning}");
        }
        let certificates = Certificates::load(policy, options).await?;
        let http = Http::new(options);
        let (limits, reload_interval) = (options.limits.clone(), options.reload_interval);
        Ok(Self { listener, certificates, http, limits, reload_interval })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown`, then finishes the requests under way, within [`Limits::grace`].
    ///
    /// Certificates and authorities are read again meanwhile; what cannot be read stays as it was.
    pub async fn serve<A: AuthenticationApi, Z: AuthorizationApi>(
        mut self,
        endpoints: Endpoints,
        authenticator: Authenticator<A>,
        authorizer: Authorizer<Z>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let tls = self.certificates.config(authenticator.client_authorities())?;
        let (router, log_limit) = (endpoints.into_router(), LogLimit::default());
        let filter = Filter { authenticator, authorizer, router, log_limit };
        let (tls_updates, tls) = watch::channel(tls);
        let (stop, stopping) = watch::channel(false);
        let server = Arc::new(Server { filter, tls, stopping, http: self.http, limits: self.limits.clone() });
        if let Ok(address) = self.listener.local_addr() {
            info!("Serving securely on {address}");
        }
        let mut tasks = JoinSet::new();
        tokio::select! {
            () = accept(&self.listener, &server, &mut tasks) => (),
            () = self.certificates.keep_fresh(self.reload_interval, &server.filter.authenticator, tls_updates) => (),
            () = shutdown => (),
        }
        drop(self.listener);
        stop.send_replace(true);
        let all_done = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(self.limits.grace, all_done).await.is_err() {
            warn!("Some clients did not take their answers before the server stopped");
        }
        Ok(())
    }
}

/// Takes in connections for ever.
async fn accept<A: AuthenticationApi, Z: AuthorizationApi>(
    listener: &TcpListener,
    server: &Arc<Server<A, Z>>,
    tasks: &mut JoinSet<()>,
) {
    let connections = Connections::new(server.limits.connections);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let place = connections.enter(peer.ip());
                tasks.spawn(talk(Arc::clone(server), stream, peer, place));
            }
            Err(error) if is_about_one_connection(&error) => (),
            Err(error) => {
                warn!(err = %error, "Cannot accept connections");
                tokio::time::sleep(NO_RESOURCES).await;
            }
        }
        while tasks.try_join_next().is_some() {}
    }
}

/// Not the listener's fault: the client was gone before it was let in.
fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn talk<A: AuthenticationApi, Z: AuthorizationApi>(
    server: Arc<Server<A, Z>>,
    stream: TcpStream,
    peer: SocketAddr,
    place: crate::connections::Place,
) {
    let place = Arc::new(place);
    tokio::select! {
        () = server.talk(stream, peer, &place) => (),
        () = place.evicted() => tracing::debug!(%peer, "Closing the connection: there are too many"),
    }
}
