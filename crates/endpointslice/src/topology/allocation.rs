//! The number of endpoints that each zone should have.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of endpoints that each zone with capacity should have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocations(BTreeMap<Arc<str>, Allocation>);

/// The number of endpoints that one zone should have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Allocation {
    /// The minimum: with fewer, its endpoints would be overloaded beyond the threshold.
    pub minimum: usize,
    /// The maximum: with more, another zone could be left with less than its minimum.
    pub maximum: usize,
    /// The number in proportion to its CPU, but not less than the minimum.
    pub desired: f64,
}

impl Allocations {
    pub(super) const fn new(zones: BTreeMap<Arc<str>, Allocation>) -> Self {
        Self(zones)
    }

    /// The allocation of a zone, if it has capacity.
    pub fn get(&self, zone: &str) -> Option<&Allocation> {
        self.0.get(zone)
    }

    /// The zones with their allocations, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Allocation)> {
        self.0.iter()
    }

    /// The most endpoints a zone may have; none without capacity.
    pub fn maximum(&self, zone: &str) -> usize {
        self.get(zone).map_or(0, |allocation| allocation.maximum)
    }

    /// The name of a zone as a shared string, without an allocation for known zones.
    pub(super) fn shared(&self, zone: &str) -> Arc<str> {
        self.0.get_key_value(zone).map_or_else(|| zone.into(), |(zone, _)| Arc::clone(zone))
    }
}
