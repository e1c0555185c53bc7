//! Addresses of one Service that a consumer of slices has wrongly, or lacks, at every look.
//!
//! Consumers follow a slice after a moment, so one look proves nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use controller_kit::key::ObjectKey;

use super::repair::Repair;
use crate::snapshot::Snapshot;

/// The most endpoints that a message names.
const NAMED: usize = 3;

/// An endpoint as a consumer has it.
pub trait Target: Copy + Ord + fmt::Display {
    /// Its address, as slices have it.
    fn address(self) -> IpAddr;
}

impl Target for IpAddr {
    fn address(self) -> IpAddr {
        self
    }
}

impl Target for SocketAddr {
    fn address(self) -> IpAddr {
        self.ip()
    }
}

/// The addresses that a consumer should have by the slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected<T> {
    /// It lacks none of these.
    pub required: BTreeSet<T>,
    /// It has none but these.
    pub allowed: BTreeSet<T>,
}

impl<T: Target> Expected<T> {
    /// These, and no others.
    pub fn exactly(targets: BTreeSet<T>) -> Self {
        Self { required: targets.clone(), allowed: targets }
    }
}

/// The addresses that a consumer has had wrongly, or lacked, at every look so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong<T> {
    /// It has had them each time, and no slice has.
    surplus: BTreeSet<T>,
    /// Slices have had them all the time, and it never has.
    missing: BTreeSet<T>,
}

impl<T: Target> Wrong<T> {
    /// The difference at the first look; `None` if there is none.
    pub fn new(found: &BTreeSet<T>, expected: &Expected<T>) -> Option<Self> {
        let surplus = found.difference(&expected.allowed).copied().collect();
        let missing = expected.required.difference(found).copied().collect();
        Self { surplus, missing }.unless_empty()
    }

    /// Keeps the addresses that are wrong at another look, too; `None` if none is.
    #[must_use]
    pub fn and(mut self, found: &BTreeSet<T>, expected: &Expected<T>) -> Option<Self> {
        self.surplus.retain(|target| found.contains(target) && !expected.allowed.contains(target));
        self.missing.retain(|target| expected.required.contains(target) && !found.contains(target));
        self.unless_empty()
    }

    fn unless_empty(self) -> Option<Self> {
        (!self.surplus.is_empty() || !self.missing.is_empty()).then_some(self)
    }

    /// The writes that send the slices concerned to all consumers again: those with what is missing; all of the Service if it
    /// has too much, because nothing tells which slice had that.
    pub fn touches(&self, service: &ObjectKey, snapshot: &Snapshot) -> Vec<Repair> {
        let missing: BTreeSet<IpAddr> = self.missing.iter().map(|target| target.address()).collect();
        let objects = snapshot.namespace(&service.namespace).into_iter();
        let slices = objects.flat_map(|objects| objects.slices_of(&service.name)).filter(|slice| {
            let addresses = slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses);
            let mut addresses = addresses.filter_map(|address| address.parse::<IpAddr>().ok());
            !self.surplus.is_empty() || addresses.any(|address| missing.contains(&address))
        });
        slices.filter_map(|slice| Repair::touch(slice, snapshot.now())).collect()
    }

    /// As clauses: what it has, and why that is wrong, then what it lacks.
    pub(super) fn clauses(&self, has: [&str; 2], lacks: [&str; 2]) -> String {
        let sides = [(has, &self.surplus), (lacks, &self.missing)];
        let sides = sides.into_iter().filter(|(_, targets)| !targets.is_empty());
        let clauses: Vec<String> =
            sides.map(|([what, why], targets)| format!("{what} {}, {why}", named(targets))).collect();
        clauses.join(", and ")
    }
}

fn named(targets: &BTreeSet<impl fmt::Display>) -> String {
    let names: Vec<String> = targets.iter().take(NAMED).map(ToString::to_string).collect();
    let more = targets.len().saturating_sub(NAMED);
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}
