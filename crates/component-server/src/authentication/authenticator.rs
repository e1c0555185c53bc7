//! The chain of authenticators.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use kube_api::error_chain;
use parking_lot::{Mutex, RwLock};
use rustls::pki_types::UnixTime;
use tokio::time::Instant;
use tracing::{info, warn};

use super::options::AuthenticationOptions;
use super::peer::Peer;
use super::token::TokenAuthenticator;
use super::trust::{self, TrustedCas};
use crate::review::{AuthenticationApi, ReviewError};
use crate::tls::TlsError;
use crate::user::User;

/// The remedy if the configuration of the cluster may not be read.
const MISSING_ROLE: &str = "bind the role to the client: kubectl create rolebinding -n kube-system NAME \
                            --role=extension-apiserver-authentication-reader --serviceaccount=NAMESPACE:NAME";

/// Interval of look-ups in the cluster. Files are reloaded more often, because that costs no request.
const LOOKUP_INTERVAL: Duration = Duration::from_mins(1);

/// Determines the user that sent a request (`authenticatorfactory/delegating.go`).
///
/// Tries the headers of a trusted front proxy, then the client certificate, then the bearer token; the first that
/// authenticates the user wins. If none does, credentials that were rejected fail the request; a request without
/// credentials is from `system:anonymous`.
pub struct Authenticator<A> {
    options: AuthenticationOptions,
    tokens: Option<TokenAuthenticator<A>>,
    /// Replaced as a whole, so that a request sees one state.
    cas: RwLock<Arc<TrustedCas>>,
    looked_up: Mutex<Instant>,
}

/// Failure to set up the authenticator.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file of CA certificates is unusable.
    #[error("{flag}")]
    File {
        /// Flag that names the file.
        flag: &'static str,
        /// Cause.
        #[source]
        source: TlsError,
    },
    /// The configuration of the cluster could not be read, and `--authentication-tolerate-lookup-failure` is off.
    #[error("unable to load configmap based request-header-client-ca-file{}", in_brackets(remedy(.0)))]
    LookUp(#[source] ReviewError),
    /// The operating system provides no random numbers.
    #[error("cannot generate a random hash key for the token cache")]
    Randomness,
}

/// Credentials that every authenticator rejected. The text is for the log, not for the client.
#[derive(Debug, Default, thiserror::Error)]
#[error("[{}]", .reasons.join(", "))]
pub struct RejectedCredentials {
    reasons: Vec<String>,
    retry_status: Option<StatusCode>,
}

impl RejectedCredentials {
    /// Returns the status code that asks the client to retry, if the credentials could not be checked for now.
    pub fn retry_status(&self) -> Option<StatusCode> {
        self.retry_status
    }
}

impl<A: AuthenticationApi> Authenticator<A> {
    /// Loads CAs from files and from the cluster. Without an `api`, tokens are ignored and only files are used.
    pub async fn load(options: AuthenticationOptions, api: Option<A>) -> Result<Self, LoadError> {
        let file = |flag| move |source| LoadError::File { flag, source };
        let clients = trust::clients_from_file(&options).await.map_err(file("--client-ca-file"))?;
        let proxies =
            trust::proxies_from_file(&options).await.map_err(file("--requestheader-client-ca-file"))?;
        let mut cas = TrustedCas { clients: clients.map(Arc::new), proxies: proxies.map(Arc::new) };
        let tokens = api.map(|api| TokenAuthenticator::new(api, options.token_cache_ttl)).transpose();
        let tokens = tokens.map_err(|_| LoadError::Randomness)?;
        match tokens.as_ref().filter(|_| options.uses_cluster()) {
            Some(tokens) => first_look_up(tokens.api(), &mut cas, &options).await?,
            None if options.uses_cluster() => {
                warn!(
                    "No authentication-kubeconfig provided, using client CAs and front proxies from files only"
                )
            }
            None => (),
        }
        let (cas, looked_up) = (RwLock::new(Arc::new(cas)), Mutex::new(Instant::now()));
        Ok(Self { options, tokens, cas, looked_up })
    }

    /// Reloads the files, and the configuration of the cluster once a minute. Parts that cannot be read stay unchanged.
    pub(crate) async fn refresh(&self) {
        let before = self.cas();
        let mut fresh = TrustedCas::clone(&before);
        trust::replace(&mut fresh.clients, trust::clients_from_file(&self.options).await);
        trust::replace(&mut fresh.proxies, trust::proxies_from_file(&self.options).await);
        if let Some(tokens) = self.tokens.as_ref().filter(|_| self.is_look_up_due()) {
            match trust::look_up(tokens.api()).await {
                Ok(config) => {
                    trust::apply(&mut fresh, &config.unwrap_or_default(), &self.options);
                    *self.looked_up.lock() = Instant::now();
                }
                Err(error) => {
                    warn!(
                        err = %error_chain(&error),
                        remedy = remedy(&error),
                        "Unable to look up the authentication configuration of the cluster"
                    );
                }
            }
        }
        if fresh != *before {
            info!("Loaded new client CAs");
            *self.cas.write() = Arc::new(fresh);
        }
    }

    fn is_look_up_due(&self) -> bool {
        self.options.uses_cluster() && self.looked_up.lock().elapsed() >= LOOKUP_INTERVAL
    }

    /// Returns the subjects of all CAs in DER, by which clients choose a certificate; none if certificates are ignored.
    pub(crate) fn ca_subjects(&self) -> Option<BTreeSet<Vec<u8>>> {
        let cas = self.cas();
        (cas.clients.is_some() || cas.proxies.is_some()).then(|| cas.subjects())
    }

    /// Returns the user, from the certificates of the connection and the headers of the request. Takes 10 s at most.
    ///
    /// Cost: one or two signature checks for a certificate, every 10 s per connection, and a request to the API server for
    /// a token that is not cached.
    ///
    /// # Errors
    ///
    /// Credentials were sent, and every authenticator rejected them.
    pub async fn authenticate(&self, peer: &Peer, headers: &HeaderMap) -> Result<User, RejectedCredentials> {
        let mut rejected = RejectedCredentials::default();
        let cas = self.cas();
        let verification = peer.verification(&cas, UnixTime::now());
        match (&verification.proxy, &cas.proxies) {
            (Some(Ok(())), Some(proxies)) => {
                if let Some(user) = proxies.user(headers) {
                    return Ok(user.authenticated());
                }
            }
            (Some(Err(reason)), _) => rejected.reasons.push(reason.clone()),
            _ => (),
        }
        match &verification.client {
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

    fn cas(&self) -> Arc<TrustedCas> {
        Arc::clone(&self.cas.read())
    }
}

impl AuthenticationOptions {
    /// True if the configuration of the cluster is used.
    fn uses_cluster(&self) -> bool {
        let by_files = self.client_ca_file.is_some() && self.request_header.client_ca_file.is_some();
        !self.skip_lookup && !by_files
    }
}

/// The remedy for a failed look-up, if it is known.
fn remedy(error: &ReviewError) -> Option<&'static str> {
    error.is_forbidden().then_some(MISSING_ROLE)
}

fn in_brackets(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!(" ({text})"))
}

/// Fails only if front proxies could not be looked up, as upstream has it: without them, the requests of a front proxy
/// would be taken for its own.
async fn first_look_up<A: AuthenticationApi>(
    api: &A,
    cas: &mut TrustedCas,
    options: &AuthenticationOptions,
) -> Result<(), LoadError> {
    match trust::look_up(api).await {
        Ok(config) => trust::apply(cas, &config.unwrap_or_default(), options),
        Err(error) if !options.tolerate_lookup_failure && options.request_header.client_ca_file.is_none() => {
            return Err(LoadError::LookUp(error));
        }
        Err(error) => {
            warn!(
                err = %error_chain(&error),
                remedy = remedy(&error),
                "Continuing without the authentication configuration of the cluster"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_api::{ApiError, Status};
    use std::collections::BTreeMap;

    type Config = BTreeMap<String, String>;

    /// Returns its configuration, and counts the requests.
    struct FakeCluster(Mutex<(u32, Result<Config, ReviewError>)>);

    fn cluster(config: Result<Config, ReviewError>) -> &'static FakeCluster {
        Box::leak(Box::new(FakeCluster(Mutex::new((0, config)))))
    }

    impl AuthenticationApi for &'static FakeCluster {
        async fn review_token(&self, _token: &str) -> Result<Option<User>, ReviewError> {
            Ok(None)
        }

        async fn cluster_config(&self) -> Result<Option<Config>, ReviewError> {
            let mut state = self.0.lock();
            state.0 += 1;
            state.1.clone().map(Some)
        }
    }

    #[tokio::test]
    async fn a_client_that_may_not_look_up_is_told_which_role_it_needs() {
        let status = Status { code: 403, message: "no".to_owned(), ..Status::default() };
        let forbidding = cluster(Err(ApiError::Refused(Box::new(status)).into()));
        let error =
            Authenticator::load(AuthenticationOptions::default(), Some(forbidding)).await.err().unwrap();
        let text = error_chain(&error);
        assert!(
            text.contains("--role=extension-apiserver-authentication-reader") && text.ends_with(": no"),
            "{text}"
        );
        assert_eq!(remedy(&ReviewError::Timeout), None);
    }

    fn ca(name: &str) -> (String, Vec<u8>) {
        let ca = scripted_api::pki::Authority::new(name);
        (ca.certificate_pem.clone(), ca.der())
    }

    #[tokio::test(start_paused = true)]
    async fn the_cluster_is_looked_up_every_minute_and_a_failure_changes_nothing() {
        let cluster = cluster(Err(ReviewError::Timeout));
        let configure = |pem: Option<&str>| {
            let config = pem.map(|pem| Config::from([("client-ca-file".to_owned(), pem.to_owned())]));
            cluster.0.lock().1 = config.ok_or(ReviewError::Timeout);
        };
        let lookups = || cluster.0.lock().0;
        let ((old, old_der), (new, new_der)) = (ca("old"), ca("new"));
        let uses = |authenticator: &Authenticator<_>, der: &[u8]| {
            let names = authenticator.ca_subjects().unwrap();
            assert_eq!(names.len(), 1);
            names.iter().all(|name| der.windows(name.len()).any(|part| part == name))
        };

        configure(Some(&old));
        let authenticator =
            Authenticator::load(AuthenticationOptions::default(), Some(cluster)).await.unwrap();
        assert!(uses(&authenticator, &old_der));
        configure(Some(&new));
        tokio::time::advance(Duration::from_millis(59_999)).await;
        authenticator.refresh().await;
        assert!(lookups() == 1 && uses(&authenticator, &old_der));
        tokio::time::advance(Duration::from_millis(1)).await;
        authenticator.refresh().await;
        assert!(lookups() == 2 && uses(&authenticator, &new_der));
        for invalid in [None, Some(""), Some("rubbish")] {
            configure(invalid);
            tokio::time::advance(LOOKUP_INTERVAL).await;
            authenticator.refresh().await;
            assert!(uses(&authenticator, &new_der));
        }
        assert_eq!(lookups(), 5);
    }
}
