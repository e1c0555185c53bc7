//! ServiceAccounts: `pkg/registry/core/serviceaccount`.

use super::strategy::Strategy;

/// The rules of ServiceAccounts.
pub(super) struct ServiceAccount;

impl Strategy for ServiceAccount {}
