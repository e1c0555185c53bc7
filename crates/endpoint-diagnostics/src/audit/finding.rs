//! The result of an audit: findings, as data.

use std::collections::BTreeSet;

use serde::Serialize;

use super::object::ObjectRef;
use super::repair::Repair;
use cli_runtime::text::one_line;

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing. Clusters in which nothing is wrong have such findings, also from kube-controller-manager alone.
    Info,
    /// Wrong, or lost at some later event; no traffic is lost now.
    Warning,
    /// Traffic is lost, or goes to a pod that is gone.
    Error,
}

impl Severity {
    /// The name in flags and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that is wrong, or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule, by its id, which never changes.
    pub rule: &'static str,
    /// The weight.
    pub severity: Severity,
    /// The object.
    pub object: ObjectRef,
    /// The Service that the object belongs to, if it is another object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The field that is wrong, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// A sentence without a full stop: what is wrong, and what follows from it.
    pub message: String,
    /// A sentence without a full stop: what to do.
    pub remedy: String,
    /// The write by which `--fix` ends it. Only objects of the controllers have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
    /// Parts of the object that the finding is about, by names that another look finds again; none if it is about all of it.
    #[serde(skip)]
    pub(super) about: BTreeSet<String>,
}

impl Finding {
    /// A finding about an object. [`audit`](super::audit()) adds its rule.
    pub(super) fn new(
        severity: Severity,
        object: ObjectRef,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            rule: "",
            severity,
            object,
            service: None,
            field: None,
            message: one_line(message),
            remedy: one_line(remedy),
            repair: None,
            about: BTreeSet::new(),
        }
    }

    /// The same, with the field that is wrong.
    #[must_use]
    pub(super) fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// The same, of an object that belongs to this Service.
    #[must_use]
    pub(super) fn of(mut self, service: &str) -> Self {
        self.service = (!service.is_empty()).then(|| service.to_owned());
        self
    }

    /// The same, about these parts of the object.
    #[must_use]
    pub(super) fn about(mut self, parts: BTreeSet<String>) -> Self {
        self.about = parts;
        self
    }

    /// The same, with a repair if there is one.
    #[must_use]
    pub(super) fn repaired_by(mut self, repair: Option<Repair>) -> Self {
        self.repair = repair;
        self
    }

    /// The name of the Service concerned: its own, or that of the object.
    pub(super) fn concerns(&self) -> &str {
        self.service.as_deref().unwrap_or(&self.object.name)
    }
}
