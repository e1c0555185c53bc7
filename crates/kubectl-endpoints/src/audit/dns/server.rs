//! One DNS server, over several checks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::audit::{Finding, Repair};
use endpoint_diagnostics::snapshot::Snapshot;
use tokio::time::timeout;

use super::client::Client;
use crate::audit::consumers::Suspects;

/// The longest time for one check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(300);
/// Failures in a row after which a check ends.
const MAX_FAILURES: u32 = 3;

/// The headless Services, with their addresses.
type Services = [(ObjectKey, BTreeSet<IpAddr>)];

/// A DNS server, and its answers so far.
pub(super) struct Server {
    address: SocketAddr,
    suspects: Suspects<ObjectKey, IpAddr>,
    answered: usize,
    unanswered: usize,
    /// The first failure.
    error: Option<String>,
}

impl Server {
    pub(super) fn new(address: SocketAddr, timeout: Duration) -> Self {
        Self { address, suspects: Suspects::new(timeout), answered: 0, unanswered: 0, error: None }
    }

    /// Asks for all Services.
    pub(super) async fn check_first(&mut self, domain: &str, services: &Services) {
        let check = async {
            let mut client = Client::connect(self.address).await?;
            check_domain(&mut client, domain).await?;
            let mut failures = 0;
            for (key, expected) in services {
                match client.addresses(&name(key, domain)).await {
                    Ok(answer) => {
                        (self.answered, failures) = (self.answered + 1, 0);
                        self.suspects.add(key.clone(), answer.wrong(expected));
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
        let failed = timeout(CHECK_TIMEOUT, check).await.unwrap_or_else(|_| Err(late()));
        self.unanswered = services.len() - self.answered;
        if let Err(error) = failed {
            self.error.get_or_insert(error);
        }
    }

    /// Asks for those again that were wrong before.
    pub(super) async fn check_again(&mut self, domain: &str, services: &Services) {
        if !self.is_open() {
            return;
        }
        let check = async {
            let mut client = Client::connect(self.address).await?;
            let expected: BTreeMap<_, _> = services.iter().map(|(key, expected)| (key, expected)).collect();
            self.suspects.retain(|key| expected.contains_key(key));
            for (key, expected) in expected {
                if !self.suspects.contains(key) {
                    continue;
                }
                let name = name(key, domain);
                let answer = client.addresses(&name).await.map_err(|error| format!("{name}: {error}"))?;
                self.suspects.check_again(key, |before| answer.still_wrong(before, expected));
            }
            Ok(())
        };
        let failed = timeout(CHECK_TIMEOUT, check).await.unwrap_or_else(|_| Err(late()));
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
        self.suspects.open() > 0
    }

    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        let confirmed = self.suspects.confirmed();
        confirmed.map(|(key, wrong, time)| wrong.finding(key, &self.address.to_string(), time))
    }

    /// The writes that send the slices of its findings again.
    pub(super) fn touches(&self, snapshot: &Snapshot) -> Vec<Repair> {
        self.suspects.confirmed().flat_map(|(key, wrong, _)| wrong.touches(key, snapshot)).collect()
    }

    /// A note about the Services whose answers could not be compared, if there are some.
    pub(super) fn note(&self) -> Option<String> {
        if self.is_silent() {
            return Some(format!("Note: DNS server {self} is not compared"));
        }
        let count = self.unanswered + self.suspects.open();
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
    format!("not done after {} s", CHECK_TIMEOUT.as_secs())
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
