//! The kinds of faults, and the timeline of a round.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use random_operations::rng::Rng;
use scripted_api::balancer::Ending;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Fault {
    // of the network
    Reset,
    Close,
    Stall,
    DeadPeers,
    IdleTimeout,
    // of a replica
    Kill,
    Terminate,
    Freeze,
    // of the API server
    ServerRestart,
    ServerFreeze,
    /// etcd is restored from a backup.
    Restore,
    Forbidden,
    // of other clients
    LeaseStolen,
    /// Another client deletes the Lease, and an administrator creates it again later.
    LeaseDeleted,
    LeaseEdited,
    ForeignEdit,
    ForeignDelete,
    ForeignRelabel,
    ForeignOwner,
    ForeignRecreate,
    ForeignNothing,
    ForeignDeleteAll,
    /// An admission policy annotates slices.
    Policy,
}

impl Fault {
    /// The number of times that it begins, in an hour.
    fn rate(self) -> usize {
        match self {
            Self::Reset | Self::Stall => 90,
            Self::Close | Self::Kill => 60,
            Self::Freeze => 50,
            Self::IdleTimeout | Self::Terminate | Self::ForeignDeleteAll => 30,
            Self::ServerRestart | Self::ServerFreeze | Self::Forbidden | Self::Policy => 20,
            Self::Restore | Self::LeaseStolen | Self::LeaseDeleted | Self::LeaseEdited => 12,
            Self::DeadPeers
            | Self::ForeignEdit
            | Self::ForeignDelete
            | Self::ForeignRelabel
            | Self::ForeignOwner
            | Self::ForeignRecreate
            | Self::ForeignNothing => 40,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.pad(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// One step of a fault. Those of the network and of processes are of the replica with this number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    Cut(usize, Ending),
    Stall(usize, bool),
    /// Connections lead nowhere, and so do new ones.
    Swallow(usize),
    /// New connections reach the API server.
    Forward(usize),
    Idle(usize, Option<Duration>),
    Signal(usize, &'static str),
    /// The API server is killed, and started again after this time.
    RestartServer(Duration),
    /// The API server is stopped for this time.
    FreezeServer(Duration),
    /// etcd is backed up.
    BackUp,
    /// The last backup is restored.
    Restore,
    /// The controllers' requests are refused with 403.
    Withdraw,
    Grant,
    /// An administrator creates the Lease that was deleted: the controllers may not.
    CreateLease,
    /// The policy is created, or deleted.
    Policy(bool),
    /// Another client changes the Lease, or one of the controllers' objects, which the number selects.
    Interfere(Fault, usize),
}

/// An action, and its time since the beginning of the round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) at: Duration,
    pub(crate) action: Action,
    /// The fault that begins.
    pub(crate) begins: Option<Fault>,
}

/// The faults of a round.
pub(crate) fn timeline(rng: &mut Rng, round: Duration, replicas: usize, without: &[Fault]) -> Vec<Entry> {
    const HOUR: usize = 3600;
    let mut entries = Vec::new();
    for second in 0..round.as_secs() {
        for fault in Fault::value_variants() {
            if rng.below(HOUR) < fault.rate() && !without.contains(fault) {
                begin(*fault, rng, replicas, Duration::from_secs(second), &mut entries);
            }
        }
    }
    entries.sort_by_key(|entry| entry.at);
    entries
}

fn begin(fault: Fault, rng: &mut Rng, replicas: usize, at: Duration, entries: &mut Vec<Entry>) {
    let at = at + Duration::from_millis(rng.below(1000) as u64);
    let replica = rng.below(replicas);
    let time = Duration::from_millis(*rng.pick(&[300, 3_000, 9_000, 20_000, 40_000]));
    let pick = rng.below(1 << 20);
    let (first, last) = match fault {
        Fault::Reset => (Action::Cut(replica, Ending::Reset), None),
        Fault::Close => (Action::Cut(replica, Ending::Closed), None),
        Fault::Stall => (Action::Stall(replica, true), Some(Action::Stall(replica, false))),
        Fault::DeadPeers => (Action::Swallow(replica), Some(Action::Forward(replica))),
        Fault::IdleTimeout => {
            let idle = Duration::from_millis(*rng.pick(&[200, 1_000, 3_000]));
            (Action::Idle(replica, Some(idle)), Some(Action::Idle(replica, None)))
        }
        Fault::Kill => (Action::Signal(replica, "KILL"), None),
        Fault::Terminate => (Action::Signal(replica, "TERM"), None),
        Fault::Freeze => (Action::Signal(replica, "STOP"), Some(Action::Signal(replica, "CONT"))),
        Fault::ServerRestart => (Action::RestartServer(time.min(Duration::from_secs(9))), None),
        Fault::ServerFreeze => (Action::FreezeServer(time.min(Duration::from_secs(20))), None),
        Fault::Restore => (Action::BackUp, Some(Action::Restore)),
        Fault::Forbidden => (Action::Withdraw, Some(Action::Grant)),
        Fault::Policy => (Action::Policy(true), Some(Action::Policy(false))),
        Fault::LeaseDeleted => (Action::Interfere(fault, pick), Some(Action::CreateLease)),
        _ => (Action::Interfere(fault, pick), None),
    };
    entries.push(Entry { at, action: first, begins: Some(fault) });
    entries.extend(last.map(|action| Entry { at: at + time, action, begins: None }));
}

/// The commands that end all faults.
pub(crate) fn healing(replicas: usize) -> Vec<Action> {
    let of = |replica| {
        [
            Action::Stall(replica, false),
            Action::Forward(replica),
            Action::Idle(replica, None),
            Action::Signal(replica, "CONT"),
        ]
    };
    let mut actions: Vec<Action> = (0..replicas).flat_map(of).collect();
    actions.extend([Action::Grant, Action::Policy(false), Action::CreateLease]);
    actions
}
