//! Slices that are as they should be, known without their endpoints.

use std::collections::BTreeMap;

use crate::desired::PortSet;
use crate::model::AddressType;

/// A slice that [`plan()`](crate::plan()) would leave alone, unless it gets more endpoints: it is the owner's, its
/// metadata and hints are right, and it has at least one endpoint. All its endpoints are desired in the group of its ports,
/// equal to the desired ones, and in no other slice.
#[derive(Clone, Copy, Debug)]
pub struct UpToDateSlice<'a> {
    /// The name.
    pub name: &'a str,
    /// The address type.
    pub address_type: AddressType,
    /// The ports.
    pub ports: &'a PortSet,
    /// The number of endpoints.
    pub endpoints: usize,
}

/// The positions of the up-to-date slices whose endpoints a plan depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingEndpoints(pub Vec<usize>);

impl MissingEndpoints {
    /// Fails if there are any positions.
    pub(super) fn none_of(positions: Vec<usize>) -> Result<(), Self> {
        if positions.is_empty() { Ok(()) } else { Err(Self(positions)) }
    }

    /// Puts off a failure: its positions join `self`.
    pub(super) fn collect<T>(&mut self, result: Result<T, Self>) -> Option<T> {
        result.map_err(|Self(positions)| self.0.extend(positions)).ok()
    }
}

/// The up-to-date slices of one address type by ports, with their positions.
pub(super) struct UpToDateOfType<'a>(BTreeMap<&'a PortSet, Vec<(usize, UpToDateSlice<'a>)>>);

/// The up-to-date slices of one group, with their positions.
#[derive(Clone, Copy)]
pub(super) struct UpToDateOfGroup<'a>(&'a [(usize, UpToDateSlice<'a>)]);

impl<'a> UpToDateOfType<'a> {
    pub(super) fn new(up_to_date: &[UpToDateSlice<'a>], address_type: AddressType) -> Self {
        let mut by_ports: BTreeMap<&PortSet, Vec<_>> = BTreeMap::new();
        for (position, slice) in up_to_date.iter().enumerate() {
            if slice.address_type == address_type {
                by_ports.entry(slice.ports).or_default().push((position, *slice));
            }
        }
        Self(by_ports)
    }

    pub(super) fn of_group(&self, ports: &PortSet) -> UpToDateOfGroup<'_> {
        UpToDateOfGroup(self.0.get(ports).map_or(&[], Vec::as_slice))
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Fails if there are any: the plan depends on their endpoints.
    pub(super) fn unless_any(&self) -> Result<(), MissingEndpoints> {
        MissingEndpoints::none_of(self.0.values().flatten().map(|(position, _)| *position).collect())
    }
}

impl UpToDateOfGroup<'_> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn endpoints(&self) -> usize {
        self.0.iter().map(|(_, slice)| slice.endpoints).sum()
    }

    /// Fails if there are any: the plan depends on their endpoints.
    pub(super) fn unless_any(&self) -> Result<(), MissingEndpoints> {
        MissingEndpoints::none_of(self.0.iter().map(|(position, _)| *position).collect())
    }

    /// Fails if `count` more endpoints fit into one of these slices more tightly than into `other`: the capacity that is
    /// left there, and the name, which decides if several fit as tightly.
    pub(super) fn unless_tighter(
        &self,
        count: usize,
        max: usize,
        other: Option<(usize, Option<&str>)>,
    ) -> Result<(), MissingEndpoints> {
        let fitting = self.0.iter().filter(|(_, slice)| slice.endpoints + count <= max);
        let tightest = fitting.min_by_key(|(_, slice)| (max - slice.endpoints - count, slice.name));
        match tightest {
            Some((position, slice))
                if other.is_none_or(|other| (max - slice.endpoints - count, Some(slice.name)) < other) =>
            {
                Err(MissingEndpoints(vec![*position]))
            }
            _ => Ok(()),
        }
    }
}
