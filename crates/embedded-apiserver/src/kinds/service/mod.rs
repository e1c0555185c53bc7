//! Services: `pkg/registry/core/service`.

use crate::kinds::strategy::Strategy;

/// The rules of Services.
pub(crate) struct Service;

impl Strategy for Service {}
