//! Reloading of serving certificates and client CAs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube_api::error_chain;
use rustls::ServerConfig;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

use crate::authentication::Authenticator;
use crate::options::ServingOptions;
use crate::review::AuthenticationApi;
use crate::tls::{CertificateContent, CertificateSource, TlsError, TlsPolicy, server_config};

/// The serving certificates: their source, and the content that is served.
pub(super) struct ServingCertificates {
    policy: TlsPolicy,
    source: CertificateSource,
    served: Served,
}

#[derive(PartialEq)]
struct Served {
    content: CertificateContent,
    ca_subjects: Option<BTreeSet<Vec<u8>>>,
}

impl ServingCertificates {
    /// Reads the certificates, and checks that they can be served.
    pub(super) async fn load(policy: TlsPolicy, options: &ServingOptions) -> Result<Self, TlsError> {
        let source = CertificateSource::open(options).await?;
        let served = Served { content: source.read().await?, ca_subjects: None };
        served.config(&policy)?;
        Ok(Self { policy, source, served })
    }

    /// Returns the first configuration.
    pub(super) fn config(
        &mut self,
        ca_subjects: Option<BTreeSet<Vec<u8>>>,
    ) -> Result<Arc<ServerConfig>, TlsError> {
        self.served.ca_subjects = ca_subjects;
        self.served.config(&self.policy)
    }

    /// Reloads certificates and client CAs at an interval, and publishes changes. Never completes.
    ///
    /// Invalid content, such as a certificate whose key has not been written yet, is ignored until the next interval.
    /// Compares contents instead of modification times, because a mounted Secret is replaced by changing a symbolic link.
    pub(super) async fn reload_every<A: AuthenticationApi>(
        &mut self,
        period: Duration,
        authenticator: &Authenticator<A>,
        updates: watch::Sender<Arc<ServerConfig>>,
    ) {
        let mut ticks = interval(period.max(Duration::from_millis(10)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            authenticator.refresh().await;
            match self.reload(authenticator.ca_subjects()).await {
                Ok(Some(config)) => {
                    info!("Loaded new serving certificates or client CA names");
                    updates.send_replace(config);
                }
                Ok(None) => (),
                Err(error) => {
                    let error = error_chain(&error);
                    warn!(err = %error, "Unable to load serving certificates, keeping the previous ones");
                }
            }
        }
    }

    async fn reload(
        &mut self,
        ca_subjects: Option<BTreeSet<Vec<u8>>>,
    ) -> Result<Option<Arc<ServerConfig>>, TlsError> {
        let found = Served { content: self.source.read().await?, ca_subjects };
        if found == self.served {
            return Ok(None);
        }
        let config = found.config(&self.policy)?;
        self.served = found;
        Ok(Some(config))
    }
}

impl Served {
    fn config(&self, policy: &TlsPolicy) -> Result<Arc<ServerConfig>, TlsError> {
        server_config(policy, &self.content, self.ca_subjects.as_ref()).map(Arc::new)
    }
}
