//! The server: its socket, its certificates, and its connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use super::connection::{HttpVersions, Server};
use super::reload::ServingCertificates;
use crate::authentication::Authenticator;
use crate::authorization::Authorizer;
use crate::connection_limit::{ConnectionLimit, ConnectionSlot};
use crate::handler_chain::{Handler, HandlerChain};
use crate::listener;
use crate::log_limit::LogLimit;
use crate::options::{Limits, ServingOptions};
use crate::review::{AuthenticationApi, AuthorizationApi};
use crate::routes::Routes;
use crate::tls::{TlsError, TlsPolicy};

/// Back-off after the system had no resources for a new connection.
const ACCEPT_BACK_OFF: Duration = Duration::from_secs(1);

/// An HTTPS server that listens and has loaded its certificate.
pub struct SecureServer {
    listener: TcpListener,
    certificates: ServingCertificates,
    http: HttpVersions,
    limits: Limits,
    reload_interval: Duration,
}

/// Failure to start the server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Invalid options; each error names its flag.
    #[error("{}", .0.join(", "))]
    Options(Vec<String>),
    /// The address cannot be listened on.
    #[error("failed to create listener: failed to listen on {address}")]
    Listen {
        /// Address.
        address: SocketAddr,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The certificate cannot be served.
    #[error("unable to load the serving certificate")]
    Certificate(#[from] TlsError),
}

impl SecureServer {
    /// Listens on `--bind-address` and `--secure-port`, and loads or generates the certificate. None if the port is 0.
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

    /// Creates a server on a listening socket; ignores the address and port of the options.
    pub async fn with_listener(listener: TcpListener, options: &ServingOptions) -> Result<Self, ServeError> {
        let policy = TlsPolicy::new(options).map_err(|error| ServeError::Options(vec![error]))?;
        for warning in &policy.warnings {
            warn!("{warning}");
        }
        let certificates = ServingCertificates::load(policy, options).await?;
        let http = HttpVersions::new(options);
        let (limits, reload_interval) = (options.limits.clone(), options.reload_interval);
        Ok(Self { listener, certificates, http, limits, reload_interval })
    }

    /// Returns the address that the server listens on.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` completes, then finishes the requests in progress within [`Limits::grace`].
    ///
    /// Reloads certificates and CAs meanwhile; content that cannot be read leaves them unchanged.
    pub async fn serve<A: AuthenticationApi, Z: AuthorizationApi>(
        mut self,
        routes: Routes,
        authenticator: Authenticator<A>,
        authorizer: Authorizer<Z>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let tls = self.certificates.config(authenticator.ca_subjects())?;
        let (router, log_limit) = (routes.into_router(), LogLimit::default());
        let handler = HandlerChain { authenticator, authorizer, router, log_limit };
        let (tls_updates, tls) = watch::channel(tls);
        let (stop, stopping) = watch::channel(false);
        let server =
            Arc::new(Server { handler, tls: Some(tls), stopping, http: self.http, limits: self.limits });
        if let Ok(address) = self.listener.local_addr() {
            info!("Serving securely on {address}");
        }
        let mut tasks = JoinSet::new();
        tokio::select! {
            () = accept(&self.listener, &server, &mut tasks) => (),
            () = self.certificates.reload_every(self.reload_interval, &server.handler.authenticator, tls_updates) => (),
            () = shutdown => (),
        }
        drop(self.listener);
        stop.send_replace(true);
        finish(tasks, server.limits.grace).await;
        Ok(())
    }
}

/// Serves a router in plain HTTP/1.1 until `shutdown` completes, with the same limits: for pages of one user, on loopback. It knows
/// no users.
pub async fn serve_plain(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    let options = ServingOptions { limits, ..ServingOptions::default() };
    let (http, (stop, stopping)) = (HttpVersions::new(&options), watch::channel(false));
    let server = Server { handler: router, tls: None, stopping, http, limits: options.limits };
    let (server, mut tasks) = (Arc::new(server), JoinSet::new());
    tokio::select! {
        () = accept(&listener, &server, &mut tasks) => (),
        () = shutdown => (),
    }
    drop(listener);
    stop.send_replace(true);
    finish(tasks, server.limits.grace).await;
}

/// Waits until all connections have ended, for this time at most.
async fn finish(mut tasks: JoinSet<()>, grace: Duration) {
    let all_done = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, all_done).await.is_err() {
        warn!("Stopped the server before all clients read their responses");
    }
}

/// Accepts connections. Never completes.
async fn accept<H: Handler>(listener: &TcpListener, server: &Arc<Server<H>>, tasks: &mut JoinSet<()>) {
    let limit = ConnectionLimit::new(server.limits.connections);
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let slot = limit.admit(address.ip());
                tasks.spawn(serve_connection(Arc::clone(server), stream, address, slot));
            }
            Err(error) if concerns_one_connection(&error) => (),
            Err(error) => {
                warn!(err = %error, "Unable to accept connections");
                tokio::time::sleep(ACCEPT_BACK_OFF).await;
            }
        }
        while tasks.try_join_next().is_some() {}
    }
}

/// True if the client disconnected before it was accepted, which does not affect the listener.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve_connection<H: Handler>(
    server: Arc<Server<H>>,
    stream: TcpStream,
    address: SocketAddr,
    slot: ConnectionSlot,
) {
    let slot = Arc::new(slot);
    tokio::select! {
        () = server.serve(stream, address, &slot) => (),
        () = slot.evicted() => debug!(peer = %address, "Connection evicted: too many connections"),
    }
}
