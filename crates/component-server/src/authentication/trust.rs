//! Whom to believe, as files and the cluster say it at the moment.

use std::collections::BTreeSet;
use std::sync::Arc;

use tracing::warn;

use super::authorities::Authorities;
use super::cluster::{self, ClusterConfig};
use super::options::AuthenticationOptions;
use super::request_header::{Headers, RequestHeader};
use crate::review::{AuthenticationApi, ReviewError, within_limit};
use crate::tls::{self, TlsError};

/// The authorities behind certificates. None: no certificate proves anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Trust {
    pub(super) clients: Option<Arc<Authorities>>,
    pub(super) proxies: Option<Arc<RequestHeader>>,
}

impl Trust {
    /// The names that clients may choose a certificate by, in DER.
    pub(super) fn subjects(&self) -> BTreeSet<Vec<u8>> {
        let proxies = self.proxies.as_ref().map(|proxies| &proxies.authorities);
        let all = self.clients.as_deref().into_iter().chain(proxies);
        all.flat_map(Authorities::subjects).collect()
    }
}

/// Authorities of clients, from their file.
pub(super) async fn clients_from_file(
    options: &AuthenticationOptions,
) -> Result<Option<Authorities>, TlsError> {
    let Some(path) = &options.client_ca_file else { return Ok(None) };
    Authorities::new(&path.display().to_string(), tls::read(path).await?).map(Some)
}

/// Front proxies, from the file of their authorities and the flags.
pub(super) async fn proxies_from_file(
    options: &AuthenticationOptions,
) -> Result<Option<RequestHeader>, TlsError> {
    let Some(path) = &options.request_header.client_ca_file else { return Ok(None) };
    let authorities = Authorities::new(&path.display().to_string(), tls::read(path).await?)?;
    Ok(Some(RequestHeader { authorities, headers: Headers::of(&options.request_header) }))
}

/// What the cluster says; none if it says nothing.
pub(super) async fn look_up<A: AuthenticationApi>(api: &A) -> Result<Option<ClusterConfig>, ReviewError> {
    within_limit(api.cluster_config()).await
}

/// Takes from the cluster what no file says. What makes no sense there is left as it is, with a warning.
pub(super) fn apply(trust: &mut Trust, config: &ClusterConfig, options: &AuthenticationOptions) {
    if options.client_ca_file.is_none() {
        replace(&mut trust.clients, cluster::client_authorities(config));
    }
    if options.request_header.client_ca_file.is_none() {
        replace(&mut trust.proxies, cluster::request_header(config));
    }
}

/// A part that cannot be read any more stays what it was; one that is gone stays, too, as upstream has it: a moment
/// without the file must not lock everybody out.
pub(super) fn replace<T>(part: &mut Option<Arc<T>>, read: Result<Option<T>, TlsError>) {
    match read {
        Ok(Some(new)) => *part = Some(Arc::new(new)),
        Ok(None) => (),
        Err(error) => {
            warn!(err = %controller_runtime::error_chain(&error), "Keeping the authorities that were read before")
        }
    }
}
