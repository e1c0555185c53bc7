//! One check: its name, its outcome, and what to do about it.

use cli_runtime::text::one_line;
use serde::Serialize;

use super::unknown::Unknown;

/// The outcome of a check, the lightest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Status {
    Ok,
    /// Worth a look before the migration; does not stop it.
    Warning,
    /// The caller may not read what decides it, or the API server did not respond.
    NotChecked,
    /// The migration would fail, or do harm.
    Failed,
}

impl Status {
    /// The name in text.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::NotChecked => "not checked",
            Self::Failed => "failed",
        }
    }
}

/// The subject of several checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Group {
    ApiServer,
    Rbac,
    Writers,
    Takeover,
    Leftovers,
}

/// A check by its name, which never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
}

const fn id(group: Group, name: &'static str) -> Id {
    Id { name, group }
}

pub(crate) const VERSION: Id = id(Group::ApiServer, "api-server-version");
pub(crate) const STREAMING: Id = id(Group::ApiServer, "streaming-lists");
pub(crate) const PRIORITY: Id = id(Group::ApiServer, "priority-of-requests");
pub(crate) const PRIORITY_OF_LEASE: Id = id(Group::ApiServer, "priority-of-lease");
pub(crate) const ENDPOINTS_RBAC: Id = id(Group::Rbac, "rbac-endpoints-controller");
pub(crate) const SLICE_RBAC: Id = id(Group::Rbac, "rbac-endpointslice-controller");
pub(crate) const MIRRORING_RBAC: Id = id(Group::Rbac, "rbac-endpointslice-mirroring-controller");
pub(crate) const LEASE_RBAC: Id = id(Group::Rbac, "rbac-leader-election");
pub(crate) const SERVING_RBAC: Id = id(Group::Rbac, "rbac-serving");
pub(crate) const ACCOUNT_RBAC: Id = id(Group::Rbac, "rbac-service-accounts");
pub(crate) const WRITERS: Id = id(Group::Writers, "last-writers");
pub(crate) const UPSTREAM_LEASE: Id = id(Group::Writers, "lease-kube-controller-manager");
pub(crate) const OWN_LEASE: Id = id(Group::Writers, "lease-endpoint-controller-manager");
pub(crate) const BUILT_INS: Id = id(Group::Writers, "built-in-controllers");
pub(crate) const KUBEADM: Id = id(Group::Writers, "kubeadm-controllers");
pub(crate) const DELETIONS: Id = id(Group::Takeover, "start-up-deletions");
pub(crate) const PLANS: Id = id(Group::Takeover, "first-plans");
pub(crate) const WORKLOADS: Id = id(Group::Leftovers, "leftover-workloads");
pub(crate) const OBJECTS: Id = id(Group::Leftovers, "leftover-objects");

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    pub(crate) id: &'static str,
    pub(crate) group: Group,
    pub(crate) status: Status,
    /// A sentence without a full stop: what was found.
    pub(crate) message: String,
    /// A sentence without a full stop: what to do. None for [`Status::Ok`].
    pub(crate) remedy: Option<String>,
}

impl Check {
    pub(super) fn new(id: Id, judged: Judged<'_>) -> Self {
        let not_checked = |unknown: &Unknown| Judgement {
            status: Status::NotChecked,
            message: unknown.message.clone(),
            remedy: Some(unknown.remedy.clone()),
        };
        let Judgement { status, message, remedy } = judged.unwrap_or_else(not_checked);
        Self {
            id: id.name,
            group: id.group,
            status,
            message: one_line(message),
            remedy: remedy.map(one_line),
        }
    }
}

/// A check without its name, or the reason why it was not made.
pub(super) type Judged<'a> = Result<Judgement, &'a Unknown>;

/// A check without its name.
pub(super) struct Judgement {
    status: Status,
    message: String,
    remedy: Option<String>,
}

pub(super) fn ok(message: impl Into<String>) -> Judged<'static> {
    judged(Status::Ok, message.into(), None)
}

pub(super) fn warning(message: impl Into<String>, remedy: impl Into<String>) -> Judged<'static> {
    judged(Status::Warning, message.into(), Some(remedy.into()))
}

pub(super) fn failed(message: impl Into<String>, remedy: impl Into<String>) -> Judged<'static> {
    judged(Status::Failed, message.into(), Some(remedy.into()))
}

#[expect(clippy::unnecessary_wraps, reason = "the form of judgements")]
fn judged(status: Status, message: String, remedy: Option<String>) -> Judged<'static> {
    Ok(Judgement { status, message, remedy })
}

/// Up to ten items, and the number of the others.
pub(super) fn first_ten(items: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<&str> = items.iter().take(SHOWN).map(String::as_str).collect();
    let more = items.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    shown.join("; ") + &rest
}

/// A number with its noun.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
