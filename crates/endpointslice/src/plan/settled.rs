//! Slices that are as they should be, known without their endpoints.

use crate::desired::PortSet;
use crate::model::AddressType;

/// A slice that [`plan()`](crate::plan()) would leave alone, unless it gets more endpoints: it is the owner's, its
/// metadata and hints are right, and it has at least one endpoint. All its endpoints are desired in the group of its ports,
/// equal to the desired ones, and in no other slice.
#[derive(Clone, Copy, Debug)]
pub struct Settled<'a> {
    /// The name.
    pub name: &'a str,
    /// The address type.
    pub address_type: AddressType,
    /// The ports.
    pub ports: &'a PortSet,
    /// The number of endpoints.
    pub endpoints: usize,
}

/// The positions of the settled slices whose endpoints a plan depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeedsEndpoints(pub Vec<usize>);

/// The settled slices of one address type or of one group, with their positions.
pub(super) struct SettledOfType<'a>(Vec<(usize, Settled<'a>)>);

impl<'a> SettledOfType<'a> {
    pub(super) fn new(settled: &[Settled<'a>], address_type: AddressType) -> Self {
        let settled = settled.iter().copied().enumerate();
        Self(settled.filter(|(_, slice)| slice.address_type == address_type).collect())
    }

    pub(super) fn of_group(&self, ports: &PortSet) -> Self {
        Self(self.0.iter().filter(|(_, slice)| slice.ports == ports).copied().collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn endpoints(&self) -> usize {
        self.0.iter().map(|(_, slice)| slice.endpoints).sum()
    }

    /// Fails if there are any: the plan depends on their endpoints.
    pub(super) fn unless_any(&self) -> Result<(), NeedsEndpoints> {
        let positions: Vec<usize> = self.0.iter().map(|(position, _)| *position).collect();
        if positions.is_empty() { Ok(()) } else { Err(NeedsEndpoints(positions)) }
    }

    /// Fails if `count` more endpoints fit into one of these slices more tightly than into `other`: the capacity that is
    /// left there, and the name, which decides if several fit as tightly.
    pub(super) fn unless_tighter(
        &self,
        count: usize,
        max: usize,
        other: Option<(usize, Option<&str>)>,
    ) -> Result<(), NeedsEndpoints> {
        let fitting = self.0.iter().filter(|(_, slice)| slice.endpoints + count <= max);
        let tightest = fitting.min_by_key(|(_, slice)| (max - slice.endpoints - count, slice.name));
        match tightest {
            Some((position, slice))
                if other.is_none_or(|other| (max - slice.endpoints - count, Some(slice.name)) < other) =>
            {
                Err(NeedsEndpoints(vec![*position]))
            }
            _ => Ok(()),
        }
    }
}
