//! Namespaces: `pkg/registry/core/namespace`.

use super::strategy::Strategy;

/// The rules of Namespaces.
pub(super) struct Namespace;

impl Strategy for Namespace {}
