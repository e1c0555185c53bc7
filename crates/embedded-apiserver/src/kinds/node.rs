//! Nodes: `pkg/registry/core/node`.

use super::strategy::Strategy;

/// The rules of Nodes.
pub(super) struct Node;

impl Strategy for Node {}
