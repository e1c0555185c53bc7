//! Endpoints: `pkg/registry/core/endpoint`.

use super::strategy::Strategy;

/// The rules of Endpoints.
pub(super) struct Endpoints;

impl Strategy for Endpoints {}
