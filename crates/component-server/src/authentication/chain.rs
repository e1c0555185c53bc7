//! One authenticator after the other.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use parking_lot::{Mutex, RwLock};
use rustls::pki_types::UnixTime;
use tokio::time::Instant;
use tracing::{info, warn};

use super::bearer::BearerTokens;
use super::options::AuthenticationOptions;
use super::trust::{self, Trust};
use super::{Peer, User};
use crate::review::{AuthenticationApi, ReviewError};
use crate::tls::TlsError;

/// How often the cluster is asked whom to trust. Files are looked at more often, because that is free.
const LOOKUP_INTERVAL: Duration = Duration::from_mins(1);

/// Tells who sent a request (`authenticatorfactory/delegating.go`).
///
/// In this order: headers of a trusted front proxy, client certificate, bearer token. The first that knows the sender
/// wins. If none does, and one was shown credentials that it rejects, the sender is turned away; without any
/// credentials they are `system:anonymous`.
pub struct Authenticator<A> {
    options: AuthenticationOptions,
    tokens: Option<BearerTokens<A>>,
    /// Replaced as a whole, never changed: a request sees one moment.
    trust: RwLock<Arc<Trust>>,
    looked_up: Mutex<Instant>,
}

/// Why there is no authenticator.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file of authorities is unusable.
    #[error("{flag}")]
    File {
        /// The flag that names the file.
        flag: &'static str,
        /// What is wrong with it.
        #[source]
        source: TlsError,
    },
    /// The cluster could not be asked whom to trust, and `--authentication-tolerate-lookup-failure` is off.
    #[error("unable to load configmap based request-header-client-ca-file")]
    LookUp(#[source] ReviewError),
    /// The operating system has no randomness.
    #[error("no randomness for the cache of tokens")]
    Randomness,
}

/// Credentials were shown, and nobody accepts them. The text is for the log, not for the sender.
#[derive(Debug, Default, thiserror::Error)]
#[error("[{}]", .reasons.join(", "))]
pub struct RejectedCredentials {
    reasons: Vec<String>,
    retry_status: Option<StatusCode>,
}

impl RejectedCredentials {
    /// The status code that tells a client to try again, if the credentials could not be looked at for now.
    pub fn retry_status(&self) -> Option<StatusCode> {
        self.retry_status
    }
}

impl<A: AuthenticationApi> Authenticator<A> {
    /// Reads files and asks the cluster. Without an `api`, tokens mean nothing and only files are read.
    pub async fn load(options: AuthenticationOptions, api: Option<A>) -> Result<Self, LoadError> {
        let file = |flag| move |source| LoadError::File { flag, source };
        let clients = trust::clients_from_file(&options).await.map_err(file("--client-ca-file"))?;
        let proxies =
            trust::proxies_from_file(&options).await.map_err(file("--requestheader-client-ca-file"))?;
        let mut trust = Trust { clients: clients.map(Arc::new), proxies: proxies.map(Arc::new) };
        let tokens = api.map(|api| BearerTokens::new(api, options.token_cache_ttl)).transpose();
        let tokens = tokens.map_err(|_| LoadError::Randomness)?;
        match tokens.as_ref().filter(|_| options.looks_up()) {
            Some(tokens) => first_look_up(tokens.api(), &mut trust, &options).await?,
            None if options.looks_up() => {
                warn!(
                    "No authentication-kubeconfig: client certificates and front proxies are only known by files"
                )
            }
            None => (),
        }
        let (trust, looked_up) = (RwLock::new(Arc::new(trust)), Mutex::new(Instant::now()));
        Ok(Self { options, tokens, trust, looked_up })
    }

    /// Reads the files again, and asks the cluster again if that was a while ago. What cannot be read stays as it was.
    pub(crate) async fn refresh(&self) {
        let before = self.trust();
        let mut fresh = Trust::clone(&before);
        trust::replace(&mut fresh.clients, trust::clients_from_file(&self.options).await);
        trust::replace(&mut fresh.proxies, trust::proxies_from_file(&self.options).await);
        if let Some(tokens) = self.tokens.as_ref().filter(|_| self.is_due()) {
            match trust::look_up(tokens.api()).await {
                Ok(config) => {
                    trust::apply(&mut fresh, &config.unwrap_or_default(), &self.options);
                    *self.looked_up.lock() = Instant::now();
                }
                Err(error) => {
                    warn!(err = %kube_api::error_chain(&error), "Cannot look up authentication configuration")
                }
            }
        }
        if fresh != *before {
            info!("Loaded new certificate authorities of clients");
            *self.trust.write() = Arc::new(fresh);
        }
    }

    fn is_due(&self) -> bool {
        self.options.looks_up() && self.looked_up.lock().elapsed() >= LOOKUP_INTERVAL
    }

    /// The names that clients may choose a certificate by, in DER; none if certificates prove nothing here.
    pub(crate) fn client_authorities(&self) -> Option<BTreeSet<Vec<u8>>> {
        Some(self.trust())
            .filter(|trust| trust.clients.is_some() || trust.proxies.is_some())
            .map(|t| t.subjects())
    }

    /// Tells who sent a request, from the certificates of the connection and the headers of the request.
    ///
    /// Costs a signature check or two for a certificate, once in 10 s on a connection, and a request to the API server for
    /// a token that was not seen within the time of the cache. Takes 10 s at most.
    pub async fn authenticate(&self, peer: &Peer, headers: &HeaderMap) -> Result<User, RejectedCredentials> {
        let mut rejected = RejectedCredentials::default();
        let trust = self.trust();
        let judgement = peer.judgement(&trust, UnixTime::now());
        match (&judgement.proxy, &trust.proxies) {
            (Some(Ok(())), Some(proxies)) => {
                if let Some(user) = proxies.headers.user(headers) {
                    return Ok(user.authenticated());
                }
            }
            (Some(Err(reason)), _) => rejected.reasons.push(reason.clone()),
            _ => (),
        }
        match &judgement.client {
            Some(Ok(Some(user))) => return Ok(user.clone().authenticated()),
            Some(Err(reason)) => rejected.reasons.push(reason.clone()),
            Some(Ok(None)) | None => (),
        }
        if let Some(tokens) = &self.tokens {
            match tokens.authenticate(headers, peer.address()).await {
                Ok(Some(user)) => return Ok(user.authenticated()),
                Ok(None) => (),
                Err(error) => {
                    rejected.reasons.push(error.to_string());
                    rejected.retry_status = error.retry_status();
                }
            }
        }
        if rejected.reasons.is_empty() { Ok(User::anonymous()) } else { Err(rejected) }
    }

    fn trust(&self) -> Arc<Trust> {
        Arc::clone(&self.trust.read())
    }
}

impl AuthenticationOptions {
    /// True if the cluster has a say.
    fn looks_up(&self) -> bool {
        let by_files = self.client_ca_file.is_some() && self.request_header.client_ca_file.is_some();
        !self.skip_lookup && !by_files
    }
}

/// Only a look-up of front proxies is vital, as upstream has it: without, requests would be taken for the proxy's own.
async fn first_look_up<A: AuthenticationApi>(
    api: &A,
    trust: &mut Trust,
    options: &AuthenticationOptions,
) -> Result<(), LoadError> {
    match trust::look_up(api).await {
        Ok(config) => trust::apply(trust, &config.unwrap_or_default(), options),
        Err(error) if !options.tolerate_lookup_failure && options.request_header.client_ca_file.is_none() => {
            return Err(LoadError::LookUp(error));
        }
        Err(error) => {
            let error = kube_api::error_chain(&error);
            warn!(err = %error, "Continuing without authentication configuration of the cluster");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Config = BTreeMap<String, String>;

    /// Says the same as long as nobody changes it, and counts how often.
    #[derive(Default)]
    struct Cluster(Mutex<(u32, Option<Config>)>);

    impl AuthenticationApi for &'static Cluster {
        async fn review_token(&self, _token: &str) -> Result<Option<User>, ReviewError> {
            Ok(None)
        }

        async fn cluster_config(&self) -> Result<Option<Config>, ReviewError> {
            let mut state = self.0.lock();
            state.0 += 1;
            state.1.clone().map(Some).ok_or(ReviewError::Timeout)
        }
    }

    fn authority(name: &str) -> (String, Vec<u8>) {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let made = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        (made.pem(), made.der().to_vec())
    }

    #[tokio::test(start_paused = true)]
    async fn the_cluster_is_asked_again_after_a_minute_and_silence_changes_nothing() {
        let cluster: &'static Cluster = Box::leak(Box::default());
        let say = |pem: Option<&str>| {
            let config = pem.map(|pem| Config::from([("client-ca-file".to_owned(), pem.to_owned())]));
            cluster.0.lock().1 = config;
        };
        let asked = || cluster.0.lock().0;
        let ((old, old_der), (new, new_der)) = (authority("old"), authority("new"));
        let shows = |authenticator: &Authenticator<_>, der: &[u8]| {
            let names = authenticator.client_authorities().unwrap();
            assert_eq!(names.len(), 1);
            names.iter().all(|name| der.windows(name.len()).any(|part| part == name))
        };

        say(Some(&old));
        let authenticator =
            Authenticator::load(AuthenticationOptions::default(), Some(cluster)).await.unwrap();
        assert!(shows(&authenticator, &old_der));
        say(Some(&new));
        tokio::time::advance(Duration::from_millis(59_999)).await;
        authenticator.refresh().await;
        assert!(asked() == 1 && shows(&authenticator, &old_der));
        tokio::time::advance(Duration::from_millis(1)).await;
        authenticator.refresh().await;
        assert!(asked() == 2 && shows(&authenticator, &new_der));
        for silence in [None, Some(""), Some("rubbish")] {
            say(silence);
            tokio::time::advance(LOOKUP_INTERVAL).await;
            authenticator.refresh().await;
            assert!(shows(&authenticator, &new_der));
        }
        assert_eq!(asked(), 5);
    }
}
