//! The Leases of the two programs.

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::version;
use jiff::{SignedDuration, Timestamp};

/// The namespace of kube-controller-manager's Lease and pods.
pub(super) const SYSTEM: &str = "kube-system";

/// A Lease of a leader election.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lease {
    /// Empty if it was released.
    pub(super) holder: String,
    pub(super) renewed: Option<Timestamp>,
    pub(super) seconds: i32,
    /// True if a hold is in force, so that no process acquires it.
    pub(super) is_held: bool,
}

/// The namespace and the name of this program's Lease.
pub(super) fn lease_name(config: &Config) -> (&str, &str) {
    match &config.leader_election {
        Some(election) => (&election.namespace, &election.name),
        None => (SYSTEM, version::NAME),
    }
}

/// The state of a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State<'a> {
    /// There is none, or its holder released it.
    Free,
    /// An operator holds it, and no process does.
    Hold,
    /// A process holds it.
    Held(&'a str),
    /// Its holder has not renewed it in time, if its clock is right.
    Expired(&'a str),
}

/// The state of a Lease at a time.
pub(super) fn state(lease: Option<&Lease>, now: Timestamp) -> State<'_> {
    let Some(Lease { holder, renewed, seconds, is_held }) = lease else { return State::Free };
    let end = renewed.and_then(|time| time.checked_add(SignedDuration::from_secs((*seconds).into())).ok());
    match holder.as_str() {
        "" if *is_held => State::Hold,
        "" => State::Free,
        holder if end.is_some_and(|end| end > now) => State::Held(holder),
        _ if *is_held => State::Hold,
        holder => State::Expired(holder),
    }
}

/// True if an identity in a Lease, `host_uuid`, is of the node. A host's name may be the node's without its domain.
pub(crate) fn is_of_node(identity: &str, node: &str) -> bool {
    let host = identity.split('_').next().unwrap_or_default();
    let is_short =
        |short: &str, long: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
    !host.is_empty() && (host == node || is_short(host, node) || is_short(node, host))
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
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_lease_is_held_until_its_duration_has_passed() {
        let lease = |holder: &str| Lease {
            holder: holder.to_owned(),
            renewed: Some(at(100)),
            seconds: 15,
            is_held: false,
        };
        assert_eq!(state(None, at(0)), State::Free);
        assert_eq!(state(Some(&lease("")), at(101)), State::Free);
        assert_eq!(state(Some(&lease("a")), at(114)), State::Held("a"));
        assert_eq!(state(Some(&lease("a")), at(115)), State::Expired("a"));
        let held = |holder: &str| Lease { is_held: true, ..lease(holder) };
        assert_eq!(state(Some(&held("")), at(101)), State::Hold);
        assert_eq!(state(Some(&held("a")), at(114)), State::Held("a"), "a hold ends no term");
        assert_eq!(state(Some(&held("a")), at(115)), State::Hold);
    }

    #[test]
    fn ages_are_short() {
        let ago = |seconds| ago(at(0), at(seconds));
        assert_eq!([ago(-5), ago(119), ago(120)], ["0 s ago", "119 s ago", "2 min ago"]);
        assert_eq!([ago(7_200), ago(172_800)], ["2 h ago", "2 days ago"]);
    }
}
