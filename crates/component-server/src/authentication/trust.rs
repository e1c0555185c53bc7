//! Whom to believe, as files and the cluster say it at the moment.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, UnixTime};
use tracing::warn;

use super::User;
use super::authorities::Authorities;
use super::client_certificate::{self, Subject};
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

/// Opinion of the authorities of a moment about a chain of certificates; none where they were not asked.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// Set if it is that of a front proxy, or the reason why not.
    pub(super) proxy: Option<Result<(), String>>,
    /// The user, or the reason why there is none.
    pub(super) client: Option<Result<Option<User>, String>>,
    /// Expiry of the first certificate that it rests on.
    pub(super) until: Option<UnixTime>,
}

impl Trust {
    /// Judges a chain of certificates.
    ///
    /// Cost: a signature check or two for each of the bundles, a tenth of a millisecond; a dozen for a chain made to be
    /// expensive.
    pub(super) fn judge(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Judgement {
        let mut judgement = Judgement::default();
        if chain.is_empty() {
            return judgement;
        }
        let mut verify = |authorities: &Authorities| {
            let until = authorities.verify(chain, now).map_err(|error| error.to_string())?;
            judgement.until = Some(judgement.until.map_or(until, |other| other.min(until)));
            Ok(())
        };
        let proxy = self.proxies.as_ref().map(|proxies| {
            verify(&proxies.authorities).and_then(|()| proxies.headers.allow(&Subject::of_chain(chain)?))
        });
        let client = self
            .clients
            .as_ref()
            .map(|clients| verify(clients).and_then(|()| client_certificate::user(chain)));
        Judgement { proxy, client, ..judgement }
    }

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
            warn!(err = %kube_api::error_chain(&error), "Keeping the authorities that were read before")
        }
    }
}
