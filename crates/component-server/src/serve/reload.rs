//! Certificates that change while they are served.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

use crate::authentication::Authenticator;
use crate::options::ServingOptions;
use crate::review::AuthenticationApi;
use crate::tls::{Material, Source, TlsError, TlsPolicy, server_config};

/// Certificates, where they come from, and what is served of them.
pub(super) struct Certificates {
    policy: TlsPolicy,
    source: Source,
    served: Served,
}

#[derive(PartialEq)]
struct Served {
    material: Material,
    client_authorities: Option<BTreeSet<Vec<u8>>>,
}

impl Certificates {
    /// Reads them for the first time, and makes sure that they can be served.
    pub(super) async fn load(policy: TlsPolicy, options: &ServingOptions) -> Result<Self, TlsError> {
        let source = Source::open(options).await?;
        let served = Served { material: source.read().await?, client_authorities: None };
        served.config(&policy)?;
        Ok(Self { policy, source, served })
    }

    /// What to serve first.
    pub(super) fn config(
        &mut self,
        client_authorities: Option<BTreeSet<Vec<u8>>>,
    ) -> Result<Arc<ServerConfig>, TlsError> {
        self.served.client_authorities = client_authorities;
        self.served.config(&self.policy)
    }

    /// Looks for changes for ever, and publishes them. A change that makes no sense, such as a certificate whose key is
    /// not there yet, changes nothing, and is looked at again the next time.
    ///
    /// Compares contents, not times: mounted Secrets are swapped by a symbolic link.
    pub(super) async fn keep_fresh<A: AuthenticationApi>(
        &mut self,
        every: Duration,
        authenticator: &Authenticator<A>,
        updates: watch::Sender<Arc<ServerConfig>>,
    ) {
        let mut ticks = interval(every.max(Duration::from_millis(10)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            authenticator.refresh().await;
            match self.reload(authenticator.client_authorities()).await {
                Ok(Some(config)) => {
                    info!("Loaded new serving certificates or names of client authorities");
                    updates.send_replace(config);
                }
                Ok(None) => (),
                Err(error) => {
                    let error = kube_api::error_chain(&error);
                    warn!(err = %error, "Keeping the serving certificates that were read before");
                }
            }
        }
    }

    async fn reload(
        &mut self,
        client_authorities: Option<BTreeSet<Vec<u8>>>,
    ) -> Result<Option<Arc<ServerConfig>>, TlsError> {
        let found = Served { material: self.source.read().await?, client_authorities };
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
        server_config(policy, &self.material, self.client_authorities.as_ref()).map(Arc::new)
    }
}
