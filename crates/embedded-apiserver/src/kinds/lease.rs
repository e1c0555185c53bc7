//! Leases: `pkg/registry/coordination/lease`.

use super::strategy::Strategy;

/// The rules of Leases.
pub(super) struct Lease;

impl Strategy for Lease {}
