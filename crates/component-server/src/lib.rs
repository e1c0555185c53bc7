//! The HTTPS server of a Kubernetes component.
//!
//! ```text
//! connection ──> TLS ──> HTTP ──> authenticate ──> authorize ──> Routes
//!  (limited)      ^                    │               │
//!                 │               TokenReview   SubjectAccessReview
//!           certificates,         (cached, limited, never needed for /healthz)
//!             reloaded
//! ```
//!
//! It serves the secure port as kube-controller-manager does, with the same flags, status codes and bodies
//! (`k8s.io/apiserver/pkg/server`, `k8s.io/controller-manager/app/serve.go`, release 1.37):
//!
//! * [`SecureServer`] listens, speaks TLS and HTTP, and limits the resources that clients can occupy.
//! * [`Authenticator`] determines the user: by front proxy, client certificate or bearer token, else anonymous.
//! * [`Authorizer`] decides about a request: by group, by path, or by the API server.
//! * [`ApiReviews`] sends reviews to the API server, behind the traits [`AuthenticationApi`] and [`AuthorizationApi`].
//! * [`Routes`] are the pages: health, metrics, configuration, flags, status, log level.
//! * [`register_process_metrics`] registers what Prometheus' client libraries tell about a process, such as [`process_start`].
//!
//! ```no_run
//! # async fn run(client: kube_api::ApiClient) -> Result<(), Box<dyn std::error::Error>> {
//! use component_server::{
//!     ApiReviews, AuthenticationOptions, Authenticator, AuthorizationOptions, Authorizer, Checks, ComponentInfo, Routes,
//!     SecureServer, ServingOptions, Slis,
//! };
//!
//! let options = ServingOptions { secure_port: 10257, ..ServingOptions::default() };
//! let Some(server) = SecureServer::bind(&options).await? else { return Ok(()) };
//! let reviews = ApiReviews::new(client.clone());
//! let authenticator = Authenticator::load(AuthenticationOptions::default(), Some(reviews)).await?;
//! let authorizer = Authorizer::new(AuthorizationOptions::default(), Some(ApiReviews::new(client)))?;
//!
//! let checks = Checks::new();
//! checks.register("informer-sync", || Err("not synced yet".to_owned()));
//! let info = ComponentInfo {
//!     component: "example-controller".to_owned(),
//!     started: component_server::process_start(),
//!     go_version: "none".to_owned(),
//!     binary_version: "0.1.0".to_owned(),
//!     emulation_version: "1.36".to_owned(),
//! };
//! let routes = Routes::new(info).health("healthz", Checks::new(), Slis::new()).health("readyz", checks, Slis::new());
//! server.serve(routes, authenticator, authorizer, std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The crate knows neither a flag parser nor a controller. Options are plain values, and their errors name the flag.
//!
//! # Differences from upstream
//!
//! * TLS is rustls over ring: no TLS below 1.2, no CBC or RSA key exchange, no P-521 or post-quantum key exchange. Flags
//!   that name these are accepted with a warning if other values remain. Self-signed keys are P-256 instead of RSA.
//! * Client certificates are verified by webpki, which is stricter. It refuses certificates of version 1, CA certificates as
//!   client certificates (unless they are in the bundle), more than three intermediates, and policy constraints.
//! * Error responses are JSON or YAML, not protobuf. A path with a character that must be percent-encoded and is not is
//!   a 400. Routes match the path as it is written, so `/%68ealthz` is a 404.
//! * Request headers are limited to 64 KiB (upstream: 1 MiB). Connections and reviews are limited in number, a review to
//!   10 s in all (upstream: 10 s for each of five attempts). A request beyond these limits gets 429 or 503 (upstream: 401
//!   or 500).
//! * An HTTP/2 client that resets a request before its response loses its connection.
//! * A positive review is refreshed before it expires if it is in use.
//! * The authentication configuration of the cluster is polled once a minute, not watched.
//! * `/livez`, `/readyz` and single checks such as `/readyz/<check>` are served; upstream's controller manager responds with
//!   404.
//!
//! # What is deliberately absent
//!
//! Profiling, compression of `/metrics`, tokens in WebSocket protocol headers, and the choice of a certificate by the local
//! address of a connection.

mod authentication;
mod authorization;
mod connection_limit;
mod error_response;
mod go_text;
mod handler_chain;
mod listener;
mod log_limit;
mod negotiate;
mod options;
mod peer_group;
mod process_metrics;
mod review;
mod routes;
mod serve;
mod tls;
mod user;

pub use authentication::{
    AuthenticationOptions, Authenticator, LoadError, Peer, RejectedCredentials, RequestHeaderOptions,
};
pub use authorization::{AuthorizationOptions, Authorizer};
pub use options::{Limits, ServingOptions, SniCertificate};
pub use process_metrics::{process_start, register_process_metrics};
pub use review::{
    AccessReview, AccessReviewStatus, ApiReviews, AuthenticationApi, AuthorizationApi, ReviewError,
};
pub use routes::{Checks, ComponentInfo, Routes, Slis};
pub use serve::{SecureServer, ServeError, serve_plain};
pub use tls::TlsError;
pub use user::User;
