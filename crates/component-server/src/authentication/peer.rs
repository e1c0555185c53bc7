//! The client at the other end of a connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, UnixTime};
use tokio::time::Instant;

use super::trust::{Judgement, Trust};

/// Time for which a judgement about a certificate is believed on the connection that showed it.
const BELIEVED: Duration = Duration::from_secs(10);

/// A client: its address, its certificates, and the last judgement about them.
#[derive(Debug)]
pub struct Peer {
    address: IpAddr,
    chain: Vec<CertificateDer<'static>>,
    judged: Mutex<Option<Judged>>,
}

#[derive(Debug)]
struct Judged {
    by: Arc<Trust>,
    until: Instant,
    judgement: Arc<Judgement>,
}

impl Peer {
    /// A client with this address and these certificates, its own first; without any, none.
    pub fn new(address: IpAddr, chain: Vec<CertificateDer<'static>>) -> Self {
        Self { address, chain, judged: Mutex::new(None) }
    }

    /// Returns its address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns what these authorities think of its certificates at this time.
    ///
    /// Cost: the signature checks of [`Trust::judge`], once in 10 s on a connection, more often only if a certificate
    /// expires or the authorities change.
    pub(super) fn judgement(&self, trust: &Arc<Trust>, now: UnixTime) -> Arc<Judgement> {
        let mut judged = self.judged.lock();
        let is_current = |judged: &&Judged| Arc::ptr_eq(&judged.by, trust) && Instant::now() < judged.until;
        if let Some(judged) = judged.as_ref().filter(is_current) {
            return Arc::clone(&judged.judgement);
        }
        let judgement = Arc::new(trust.judge(&self.chain, now));
        let left =
            judgement.until.map(|until| Duration::from_secs(until.as_secs().saturating_sub(now.as_secs())));
        let until = Instant::now() + left.unwrap_or(BELIEVED).min(BELIEVED);
        *judged = Some(Judged { by: Arc::clone(trust), until, judgement: Arc::clone(&judgement) });
        judgement
    }
}

#[cfg(test)]
mod tests {
    use super::super::authorities::Authorities;
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
    use tokio::time::advance;

    /// Expiry of the certificate: the beginning of 2030.
    const END: u64 = 1_893_456_000;

    fn trust_and_peer() -> (Arc<Trust>, Peer) {
        let (mut authority, key) = (CertificateParams::default(), KeyPair::generate().unwrap());
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = authority.self_signed(&key).unwrap().pem();
        let mut client = CertificateParams::default();
        client.distinguished_name.push(DnType::CommonName, "bob");
        client.not_after = date_time_ymd(2030, 1, 1);
        let chain = client.signed_by(&KeyPair::generate().unwrap(), &Issuer::new(authority, key)).unwrap();
        let clients = Authorities::new("--client-ca-file", pem.into_bytes()).unwrap();
        let trust = Trust { clients: Some(Arc::new(clients)), proxies: None };
        (Arc::new(trust), Peer::new([127, 0, 0, 1].into(), vec![chain.der().clone()]))
    }

    fn is_known(peer: &Peer, trust: &Arc<Trust>, now: u64) -> bool {
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
        peer.judgement(trust, now).client.as_ref().is_some_and(Result::is_ok)
    }

    #[tokio::test(start_paused = true)]
    async fn a_judgement_is_believed_for_ten_seconds() {
        let (trust, peer) = trust_and_peer();
        assert!(is_known(&peer, &trust, END - 3600));
        advance(Duration::from_millis(9_999)).await;
        // Not looked at again, or it would have expired.
        assert!(is_known(&peer, &trust, END + 1));
        advance(Duration::from_millis(1)).await;
        assert!(!is_known(&peer, &trust, END + 1));
        // The same the other way round: a clock that was wrong is not believed for longer.
        assert!(!is_known(&peer, &trust, END - 3600));
        advance(BELIEVED).await;
        assert!(is_known(&peer, &trust, END - 3600));
    }

    #[tokio::test(start_paused = true)]
    async fn no_judgement_outlives_a_certificate() {
        let (trust, peer) = trust_and_peer();
        assert!(is_known(&peer, &trust, END - 3));
        advance(Duration::from_millis(2_999)).await;
        assert!(is_known(&peer, &trust, END - 1));
        advance(Duration::from_millis(1)).await;
        assert!(!is_known(&peer, &trust, END + 1));
    }

    #[tokio::test(start_paused = true)]
    async fn other_authorities_judge_at_once() {
        let ((trust, peer), (other, _)) = (trust_and_peer(), trust_and_peer());
        assert!(is_known(&peer, &trust, END - 3600));
        assert!(!is_known(&peer, &other, END - 3600));
        assert!(is_known(&peer, &trust, END - 3600));
    }
}
