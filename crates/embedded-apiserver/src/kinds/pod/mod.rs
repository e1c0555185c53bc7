//! Pods: `pkg/registry/core/pod`.

use crate::kinds::strategy::Strategy;

/// The rules of Pods.
pub(crate) struct Pod;

impl Strategy for Pod {}
