//! The peer of a connection: a client with its certificates.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, UnixTime};
use tokio::time::Instant;

use super::trust::{TrustedCas, Verification};
use crate::tls::Subject;

/// Lifetime of a verification, on the connection whose certificates were verified.
const VERIFICATION_TTL: Duration = Duration::from_secs(10);

/// A client: its address, its certificates, and the last verification of them.
#[derive(Debug)]
pub struct Peer {
    address: IpAddr,
    chain: Vec<CertificateDer<'static>>,
    verified: Mutex<Option<Verified>>,
}

#[derive(Debug)]
struct Verified {
    cas: Arc<TrustedCas>,
    valid_until: Instant,
    result: Arc<Verification>,
}

impl Peer {
    /// Creates a client with this address and certificate chain, its own certificate first. The chain may be empty.
    pub fn new(address: IpAddr, chain: Vec<CertificateDer<'static>>) -> Self {
        Self { address, chain, verified: Mutex::new(None) }
    }

    /// Returns the address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Describes the certificate for the log, whether it is verified or not; none without one.
    pub(crate) fn certificate(&self) -> Option<String> {
        self.chain.first().map(Subject::description)
    }

    /// Verifies the certificates, or returns the last verification by these CAs.
    ///
    /// Cost: the signature checks of [`TrustedCas::verify`], every 10 s per connection, earlier only if a certificate
    /// expires or the CAs change.
    pub(super) fn verification(&self, cas: &Arc<TrustedCas>, now: UnixTime) -> Arc<Verification> {
        let mut verified = self.verified.lock();
        let is_current =
            |verified: &&Verified| Arc::ptr_eq(&verified.cas, cas) && Instant::now() < verified.valid_until;
        if let Some(verified) = verified.as_ref().filter(is_current) {
            return Arc::clone(&verified.result);
        }
        let result = Arc::new(cas.verify(&self.chain, now));
        let left =
            result.expires_at.map(|end| Duration::from_secs(end.as_secs().saturating_sub(now.as_secs())));
        let valid_until = Instant::now() + left.unwrap_or(VERIFICATION_TTL).min(VERIFICATION_TTL);
        *verified = Some(Verified { cas: Arc::clone(cas), valid_until, result: Arc::clone(&result) });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::super::ca_bundle::CaBundle;
    use super::*;
    use scripted_api::pki::{Authority, named};
    use tokio::time::advance;

    /// Expiry of the certificate in Unix seconds: the beginning of 2030.
    const EXPIRY: u64 = 1_893_456_000;

    fn cas_and_peer() -> (Arc<TrustedCas>, Peer) {
        let (ca, mut client) = (Authority::new("ca"), named("bob", &[]));
        client.not_after = rcgen::date_time_ymd(2030, 1, 1);
        let bob = ca.sign(&client).certificate;
        let clients = CaBundle::new("--client-ca-file", ca.certificate_pem.into_bytes()).unwrap();
        let cas = TrustedCas { clients: Some(Arc::new(clients)), proxies: None };
        (Arc::new(cas), Peer::new([127, 0, 0, 1].into(), vec![bob]))
    }

    fn is_valid(peer: &Peer, cas: &Arc<TrustedCas>, now: u64) -> bool {
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
        peer.verification(cas, now).client.as_ref().is_some_and(Result::is_ok)
    }

    #[tokio::test(start_paused = true)]
    async fn a_verification_is_reused_for_ten_seconds() {
        let (cas, peer) = cas_and_peer();
        assert!(is_valid(&peer, &cas, EXPIRY - 3600));
        advance(Duration::from_millis(9_999)).await;
        // Verified again, it would have expired.
        assert!(is_valid(&peer, &cas, EXPIRY + 1));
        advance(Duration::from_millis(1)).await;
        assert!(!is_valid(&peer, &cas, EXPIRY + 1));
        // A failed verification is reused for as long, such as after a clock was wrong.
        assert!(!is_valid(&peer, &cas, EXPIRY - 3600));
        advance(VERIFICATION_TTL).await;
        assert!(is_valid(&peer, &cas, EXPIRY - 3600));
    }

    #[tokio::test(start_paused = true)]
    async fn a_verification_does_not_outlive_a_certificate() {
        let (cas, peer) = cas_and_peer();
        assert!(is_valid(&peer, &cas, EXPIRY - 3));
        advance(Duration::from_millis(2_999)).await;
        assert!(is_valid(&peer, &cas, EXPIRY - 1));
        advance(Duration::from_millis(1)).await;
        assert!(!is_valid(&peer, &cas, EXPIRY + 1));
    }

    #[tokio::test(start_paused = true)]
    async fn other_cas_verify_at_once() {
        let ((cas, peer), (other, _)) = (cas_and_peer(), cas_and_peer());
        assert!(is_valid(&peer, &cas, EXPIRY - 3600));
        assert!(!is_valid(&peer, &other, EXPIRY - 3600));
        assert!(is_valid(&peer, &cas, EXPIRY - 3600));
    }
}
