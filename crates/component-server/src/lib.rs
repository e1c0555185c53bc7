//! The HTTPS server of a Kubernetes component.
//!
//! ```text
//!           accept ──> TLS ──> HTTP ──> authenticate ──> authorize ──> Endpoints
//!              │        ^                    │               │
//! Connections ─┘        │                TokenReview   SubjectAccessReview
//! (who has to go)   certificates,       (cached, bounded, never in the way of /healthz)
//!                   read again
//! ```
//!
//! What kube-controller-manager serves on its secure port, with the same flags, status codes and bodies
//! (`k8s.io/apiserver/pkg/server`, `k8s.io/controller-manager/app/serve.go`, release 1.36):
//!
//! * [`SecureServer`] listens, speaks TLS and HTTP, and bounds everything that a client could keep busy.
//! * [`Authenticator`] says who asks: front proxy, client certificate, bearer token, or nobody in particular.
//! * [`Authorizer`] says whether they may: by group, by path, or by asking the API server.
//! * [`ApiReviews`] does the asking. It is behind the traits [`AuthenticationApi`] and [`AuthorizationApi`].
//! * [`Endpoints`] holds what is served: health, metrics, configuration, flags, status, log level.
//!
//! Nothing here knows a flag parser or a controller. Options are plain values; their errors name the flag.
//!
//! # What differs from upstream
//!
//! * TLS is rustls over ring: no TLS below 1.2, no CBC or RSA key exchange, no P-521 or post-quantum exchange. Flags that
//!   name these are accepted with a warning as long as something remains. Self-signed keys are P-256, not RSA.
//! * Client certificates are verified by webpki, which is stricter: certificates of version 1, authorities shown as client
//!   certificates (unless pinned themselves), more than three intermediates, and policy constraints prove nothing.
//! * Refusals are JSON or YAML, not protobuf. A path with characters that must be percent-encoded is a 400 if they are
//!   not, and a 404 if others are: `/%68ealthz` is no way to write `/healthz`.
//! * Request headers are limited to 64 KiB (upstream: 1 MiB), connections in number, reviews in number and to 10 s in
//!   all (upstream: 10 s for each of five attempts). A request for which there is no place or no answer in time
//!   gets 429 or 503 (upstream: 401 or 500).
//! * A request that its client resets before the answer costs it its HTTP/2 connection.
//! * A good answer to a review is asked for again before it expires, if it is in use.
//! * The cluster's authentication configuration is read once a minute, not watched.
//! * `/livez`, `/readyz` and single checks such as `/readyz/<check>` are served; upstream's controller manager answers
//!   404 to them.
//! * Not there: profiling, compression of `/metrics`, tokens in WebSocket protocol headers, and certificates chosen by
//!   the address that a client connected to.

mod authentication;
mod authorization;
mod connections;
mod endpoints;
mod filter;
mod lanes;
mod listener;
mod log_limit;
mod negotiate;
mod options;
mod refusal;
mod review;
mod review_cache;
mod serve;
mod tls;

pub use authentication::{AuthenticationOptions, RejectedCredentials};
pub use authentication::{Authenticator, LoadError, Peer, RequestHeaderOptions, User};
pub use authorization::{AuthorizationOptions, Authorizer, Decision};
pub use endpoints::{BuildFacts, Checks, Endpoints, Slis};
pub use options::{Limits, ServingOptions, SniCertificate};
pub use review::{AccessReview, AccessVerdict, ApiReviews, AuthenticationApi, AuthorizationApi, ReviewError};
pub use serve::{SecureServer, ServeError};
pub use tls::TlsError;
