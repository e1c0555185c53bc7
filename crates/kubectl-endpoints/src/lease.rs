//! The Leases of the two programs, judged by the times in them. `handover` judges them by a clock of its own.

use std::fmt::Display;

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::leader_election::HOLD;
use endpoint_controller_manager::version;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1 as coordination;
use kube_api::{ApiClient, ApiError};
use serde::Serialize;

use crate::objects;

/// The namespace of kube-controller-manager's Lease and pods.
pub(crate) const SYSTEM: &str = "kube-system";

/// A Lease of a leader election at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lease {
    /// Empty if it was released.
    pub(crate) holder: String,
    pub(crate) since: Option<Timestamp>,
    pub(crate) renewed: Option<Timestamp>,
    /// True if the holder has not renewed it in time, if its clock is right.
    pub(crate) is_expired: bool,
    /// True if a hold is in force, so that no process acquires it.
    pub(crate) is_on_hold: bool,
    /// The reason why the holder writes nothing yet (`--takeover-max-writes`). It is not on the Lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) takeover_held: Option<String>,
}

impl Lease {
    /// Judges a Lease at a time.
    pub(crate) fn at(now: Timestamp, lease: coordination::Lease) -> Self {
        let is_on_hold = HOLD.in_force(&lease.metadata).is_some();
        let spec = lease.spec.unwrap_or_default();
        let renewed = spec.renew_time.map(|time| time.0);
        let length = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
        let end = renewed.and_then(|time| time.checked_add(length).ok());
        Self {
            holder: spec.holder_identity.unwrap_or_default(),
            since: spec.acquire_time.map(|time| time.0),
            renewed,
            is_expired: end.is_none_or(|end| end <= now),
            is_on_hold,
            takeover_held: None,
        }
    }
}

/// Reads a Lease of the namespace of kube-controller-manager, and judges it at a time; none if there is none.
pub(crate) async fn read(client: &ApiClient, name: &str, now: Timestamp) -> Result<Option<Lease>, ApiError> {
    let lease = objects::find(client, &path(&[SYSTEM, name])).await?;
    Ok(lease.map(|lease| Lease::at(now, lease)))
}

/// The path of a Lease, by namespace and name.
pub(crate) fn path([namespace, name]: &[impl Display; 2]) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
}

/// The namespace and the name of endpoint-controller-manager's Lease.
pub(crate) fn lease_name(config: &Config) -> (&str, &str) {
    match &config.leader_election {
        Some(election) => (&election.namespace, &election.name),
        None => (SYSTEM, version::NAME),
    }
}

/// The state of a [`Lease`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State<'a> {
    /// There is none, or its holder released it.
    Free,
    /// An operator holds it, and no process does.
    Hold,
    /// A process holds it.
    Held(&'a str),
    /// Its holder has not renewed it in time, if its clock is right.
    Expired(&'a str),
}

/// The state of a Lease.
pub(crate) fn state(lease: Option<&Lease>) -> State<'_> {
    let Some(Lease { holder, is_expired, is_on_hold, .. }) = lease else { return State::Free };
    match holder.as_str() {
        "" if *is_on_hold => State::Hold,
        "" => State::Free,
        holder if !is_expired => State::Held(holder),
        _ if *is_on_hold => State::Hold,
        holder => State::Expired(holder),
    }
}

/// True if an identity in a Lease, `host_uuid`, is of the node. A host's name may be the node's without its domain, and have
/// upper case, of which a kubelet makes lower case.
pub(crate) fn is_of_node(identity: &str, node: &str) -> bool {
    let host = identity.split('_').next().unwrap_or_default().to_lowercase();
    let is_short =
        |short: &str, long: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
    !host.is_empty() && (host == node || is_short(&host, node) || is_short(node, &host))
}

/// A time before another for a reader: `5 s ago`.
pub(crate) fn ago(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(time).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds} s ago"),
        120..7_200 => format!("{} min ago", seconds / 60),
        7_200..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_lease_is_held_until_its_duration_has_passed() {
        let lease = |holder: &str, annotations: &Value, now| {
            let spec = json!({"holderIdentity": holder, "acquireTime": "1970-01-01T00:00:05.000000Z",
                "renewTime": "1970-01-01T00:01:40.000000Z", "leaseDurationSeconds": 15});
            let lease = json!({"metadata": {"annotations": annotations}, "spec": spec});
            Lease::at(at(now), serde_json::from_value(lease).unwrap())
        };
        let free = |holder: &str, now| lease(holder, &json!({}), now);
        assert_eq!(state(None), State::Free);
        assert_eq!(state(Some(&free("", 101))), State::Free);
        assert_eq!(state(Some(&free("a", 114))), State::Held("a"));
        assert_eq!(state(Some(&free("a", 115))), State::Expired("a"));
        assert_eq!(free("a", 101).since, Some(at(5)));
        let held = |holder, now| lease(holder, &json!({"endpoint-controller-manager/hold": "by hand"}), now);
        assert_eq!(state(Some(&held("", 101))), State::Hold);
        assert_eq!(state(Some(&held("a", 114))), State::Held("a"), "a hold ends no term");
        assert_eq!(state(Some(&held("a", 115))), State::Hold);
    }

    #[test]
    fn ages_are_short() {
        let ago = |seconds| ago(at(0), at(seconds));
        assert_eq!([ago(-5), ago(119), ago(120)], ["0 s ago", "119 s ago", "2 min ago"]);
        assert_eq!([ago(7_200), ago(172_800)], ["2 h ago", "2 days ago"]);
    }
}
