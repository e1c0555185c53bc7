//! `rest_client_certificate_expiration_seconds`: the end of the validity of the client certificate. After it, the API server
//! rejects all requests.

use std::convert::Infallible;
use std::time::Duration;

use kube_api::{client_certificate_expiry, error_chain};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::runtime::Handle;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;
use tracing::warn;

/// The time between two looks at the file.
const PERIOD: Duration = Duration::from_secs(60);

/// Registers a gauge if this configuration has a certificate. Returns the task that keeps it current, if there is one.
pub(crate) fn register(config: &kube::Config, registry: &mut Registry, runtime: &Handle) -> JoinSet<String> {
    let (expiry, mut tasks) = (Gauge::default(), JoinSet::new());
    if set(&expiry, config) {
        let help = "End of the validity of the client certificate, in seconds since the Unix epoch";
        registry.register("rest_client_certificate_expiration_seconds", help, expiry.clone());
        let config = config.clone();
        tasks.spawn_on(async move { match follow(expiry, config).await {} }, runtime);
    }
    tasks
}

async fn follow(expiry: Gauge, config: kube::Config) -> Infallible {
    loop {
        sleep(PERIOD).await;
        let (expiry, config) = (expiry.clone(), config.clone());
        // The disk may be slow.
        let _ = spawn_blocking(move || set(&expiry, &config)).await;
    }
}

/// Sets the gauge. Returns false if there is no certificate; one that cannot be read leaves the gauge as it is.
fn set(expiry: &Gauge, config: &kube::Config) -> bool {
    match client_certificate_expiry(config) {
        Ok(Some(end)) => {
            expiry.set(i64::try_from(end.as_secs()).unwrap_or(i64::MAX));
            true
        }
        Ok(None) => false,
        Err(error) => {
            let err = error_chain(&*error);
            warn!(err, "Cannot see when the client certificate expires");
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use scripted_api::mutual_tls::Authority;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_gauge_follows_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("client.crt");
        let mut config = kube::Config::new("https://127.0.0.1".parse().unwrap());
        config.auth_info.client_certificate = Some(path.to_str().unwrap().to_owned());
        let expiry = Gauge::default();
        assert!(set(&expiry, &config), "it cannot be read yet");
        let _following = tokio::spawn(follow(expiry.clone(), config));
        let identity = Authority::new("clients").client();
        fs::write(&path, &identity.certificate_pem).unwrap();
        // The clock stands still while the file is read.
        sleep(2 * PERIOD).await;
        let end = expiry.get();
        assert_ne!(end, 0, "it was read");
        fs::write(&path, "").unwrap();
        sleep(3 * PERIOD).await;
        assert_eq!(expiry.get(), end, "what is not a certificate changes nothing");
    }

    #[test]
    fn a_token_has_no_gauge() {
        let config = kube::Config::new("https://127.0.0.1".parse().unwrap());
        assert!(!set(&Gauge::default(), &config));
    }
}
