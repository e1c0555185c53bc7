//! One DNS server, over several looks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::audit::Finding;
use endpoint_diagnostics::audit::dns::Wrong;
use tokio::time::{Instant, timeout};

use super::client::Client;

/// The longest time for one look.
const LOOK: Duration = Duration::from_secs(300);
/// Failures in a row after which a look ends.
const MAX_FAILURES: u32 = 3;

/// The headless Services, with their addresses.
type Services = [(ObjectKey, BTreeSet<IpAddr>)];

/// A DNS server, and its answers so far.
pub(super) struct Server {
    address: SocketAddr,
    /// The time for which an answer must be wrong.
    timeout: Duration,
    suspects: BTreeMap<ObjectKey, Suspect>,
    answered: usize,
    unanswered: usize,
    /// The first failure.
    error: Option<String>,
}

/// A Service for which every answer so far was wrong.
struct Suspect {
    wrong: Wrong,
    since: Instant,
    /// The time of the last answer.
    until: Instant,
}

impl Suspect {
    fn time(&self) -> Duration {
        self.until.saturating_duration_since(self.since)
    }
}

impl Server {
    pub(super) fn new(address: SocketAddr, timeout: Duration) -> Self {
        let (suspects, error) = Default::default();
        Self { address, timeout, suspects, answered: 0, unanswered: 0, error }
    }

    /// Asks for all Services.
    pub(super) async fn look_first(&mut self, domain: &str, services: &Services) {
        let look = async {
            let mut client = Client::connect(self.address).await?;
            check_domain(&mut client, domain).await?;
            let mut failures = 0;
            for (key, expected) in services {
                match client.addresses(&name(key, domain)).await {
                    Ok(answer) => {
                        (self.answered, failures) = (self.answered + 1, 0);
                        let now = Instant::now();
                        if let Some(wrong) = answer.wrong(expected) {
                            self.suspects.insert(key.clone(), Suspect { wrong, since: now, until: now });
                        }
                    }
                    Err(error) => {
                        self.error.get_or_insert_with(|| format!("{}: {error}", name(key, domain)));
                        failures += 1;
                        if failures == MAX_FAILURES {
                            break;
                        }
                    }
                }
            }
            Ok(())
        };
        let failed = timeout(LOOK, look).await.unwrap_or_else(|_| Err(late()));
        self.unanswered = services.len() - self.answered;
        if let Err(error) = failed {
            self.error.get_or_insert(error);
        }
    }

    /// Asks for those again that were wrong before.
    pub(super) async fn look_again(&mut self, domain: &str, services: &Services) {
        if !self.is_open() {
            return;
        }
        let look = async {
            let mut client = Client::connect(self.address).await?;
            let expected: BTreeMap<_, _> = services.iter().map(|(key, expected)| (key, expected)).collect();
            // One that is gone is no longer wrong.
            self.suspects.retain(|key, _| expected.contains_key(key));
            for (key, expected) in expected {
                let Some(suspect) = self.suspects.get_mut(key) else { continue };
                let name = name(key, domain);
                let answer = client.addresses(&name).await.map_err(|error| format!("{name}: {error}"))?;
                match answer.still_wrong(suspect.wrong.clone(), expected) {
                    Some(wrong) => (suspect.wrong, suspect.until) = (wrong, Instant::now()),
                    None => drop(self.suspects.remove(key)),
                }
            }
            Ok(())
        };
        let failed = timeout(LOOK, look).await.unwrap_or_else(|_| Err(late()));
        if let Err(error) = failed {
            self.error.get_or_insert(error);
        }
    }

    /// True if nothing was answered.
    pub(super) fn is_silent(&self) -> bool {
        self.answered == 0 && self.error.is_some()
    }

    /// True if some answers are wrong, and have not been for long enough.
    pub(super) fn is_open(&self) -> bool {
        self.suspects.values().any(|suspect| suspect.time() < self.timeout)
    }

    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        let confirmed = self.suspects.iter().filter(|(_, suspect)| suspect.time() >= self.timeout);
        confirmed.map(|(key, suspect)| suspect.wrong.finding(key, &self.address.to_string(), suspect.time()))
    }

    /// A note about the Services whose answers could not be compared, if there are some.
    pub(super) fn note(&self) -> Option<String> {
        if self.is_silent() {
            return Some(format!("Note: DNS server {self} is not compared"));
        }
        let open = self.suspects.values().filter(|suspect| suspect.time() < self.timeout).count();
        let count = self.unanswered + open;
        (count > 0)
            .then(|| format!("Note: {count} headless Services are not compared with DNS server {self}"))
    }
}

/// The address, and the first failure in parentheses.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => write!(f, "{} ({error})", self.address),
            None => write!(f, "{}", self.address),
        }
    }
}

fn name(key: &ObjectKey, domain: &str) -> String {
    format!("{}.{}.svc.{domain}", key.name, key.namespace)
}

fn late() -> String {
    format!("not done after {} s", LOOK.as_secs())
}

/// Asks for a name that each cluster has: of a wrong domain, every answer would be wrong.
async fn check_domain(client: &mut Client, domain: &str) -> Result<(), String> {
    let name = format!("kubernetes.default.svc.{domain}");
    let answer = client.addresses(&name).await.map_err(|error| format!("{name}: {error}"))?;
    if answer.is_empty() {
        return Err(format!("it does not know {name}; is --cluster-domain right?"));
    }
    Ok(())
}
