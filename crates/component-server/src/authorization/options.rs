//! The authorization flags of a component.

use std::time::Duration;

use super::paths::Paths;

/// The flags of the authorization section (`k8s.io/apiserver/pkg/server/options/authorization.go`), with their defaults.
/// `--authorization-kubeconfig` is not among them: it becomes the
/// [`AuthorizationApi`](crate::AuthorizationApi) of the [`Authorizer`](crate::Authorizer).
#[derive(Clone, Debug)]
pub struct AuthorizationOptions {
    /// `--authorization-always-allow-paths`: paths that every client may use; one that ends in `*` is a prefix.
    pub always_allow_paths: Vec<String>,
    /// `--authorization-webhook-cache-authorized-ttl`: lifetime of a cached permission; 0 disables
    /// caching.
    pub authorized_ttl: Duration,
    /// `--authorization-webhook-cache-unauthorized-ttl`: lifetime of a cached denial; 0 disables
    /// caching.
    pub unauthorized_ttl: Duration,
}

impl Default for AuthorizationOptions {
    fn default() -> Self {
        Self {
            always_allow_paths: ["/healthz", "/readyz", "/livez"].map(str::to_owned).to_vec(),
            authorized_ttl: Duration::from_secs(10),
            unauthorized_ttl: Duration::from_secs(10),
        }
    }
}

impl AuthorizationOptions {
    /// Returns every error in the values, each naming its flag.
    pub fn validate(&self) -> Vec<String> {
        Paths::new(&self.always_allow_paths).err().into_iter().collect()
    }
}
