//! One entry of a timeline.

use std::fmt;

use random_operations::Operation;
use random_operations::neighbour::Interference;

use crate::fault::Fault;
use crate::policy::Policy;

/// A kind of objects that is watched. Services of other controllers have a watch of their own, `delegated`.
pub const KINDS: [&str; 6] = ["pods", "services", "nodes", "endpointslices", "endpoints", "delegated"];

/// A change of the cluster, or a fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// An operation; then an annotation of these Services changes, because controllers do not notice it by itself.
    Operation {
        operation: Box<Operation>,
        touch: Vec<String>,
    },
    /// Changes an annotation of these Services.
    Touch(Vec<String>),
    /// Changes an annotation of custom Endpoints that is not mirrored, as `kubectl apply` does.
    TouchEndpoints,
    /// Sets or removes the label that delegates a Service.
    Delegate {
        service: String,
        value: Option<&'static str>,
    },
    /// A ready pod of the Service that must stay reachable comes or goes.
    Extra {
        number: usize,
        present: bool,
    },
    /// From now on a front shows events of a kind this much later.
    Lag {
        front: usize,
        kind: usize,
        milliseconds: u64,
    },
    Compact,
    /// A front closes its connections and refuses new ones for a while.
    Restart {
        front: usize,
        milliseconds: u64,
    },
    /// All fronts, one after another.
    RollingRestart {
        milliseconds: u64,
    },
    Backup,
    /// The state of the last backup. Versions continue from there, plus `bump`, which is small or beyond all that were
    /// written since.
    Restore {
        bump: u64,
    },
    /// Requests of a replica get no answer.
    Partition {
        replica: usize,
        milliseconds: u64,
    },
    /// Writes of objects are refused.
    Forbid {
        milliseconds: u64,
    },
    /// Slices and Endpoints cannot be created, because a quota is exceeded.
    Quota {
        milliseconds: u64,
    },
    Unauthorized {
        milliseconds: u64,
    },
    /// From now on connections without traffic for this long are dropped: with a reset, or silently.
    IdleTimeout {
        seconds: u64,
        silent: bool,
    },
    Crash {
        replica: usize,
    },
    /// After this many polls of its tasks.
    CrashAtPoll {
        replica: usize,
        polls: u64,
    },
    Terminate {
        replica: usize,
    },
    Freeze {
        replica: usize,
        milliseconds: u64,
    },
    /// After this many polls of its tasks: while it works.
    FreezeAtPoll {
        replica: usize,
        polls: u64,
        milliseconds: u64,
    },
    ClockJump {
        replica: usize,
        seconds: i64,
    },
    /// From now on the clocks of a replica run at this rate, 100 being the API server's. Timers that are set keep theirs.
    ClockRate {
        replica: usize,
        percent: u32,
    },
    StealLease,
    DeleteLease,
    EditLease,
    /// Another client changes one of our objects, of this Service if one is named.
    Foreign {
        what: Interference,
        pick: usize,
        of: Option<&'static str>,
    },
    /// Another client deletes all our slices of a Service, one after another.
    DeleteSlices {
        service: &'static str,
        pause_milliseconds: u64,
    },
    /// Another client gives each slice that we create from now on to itself, a little later.
    TakeSlices {
        milliseconds: u64,
    },
    /// Another program mirrors the same Endpoints, without the Lease.
    SecondWriter {
        milliseconds: u64,
    },
    /// An admission policy changes what replicas write.
    Policy(Policy),
    /// Ready pods of [`CROWD`](random_operations::neighbour::CROWD) come, those with these numbers.
    Crowd {
        from: usize,
        to: usize,
    },
    /// So many Services with a ready pod each come at once in the namespace
    /// [`TENANT`](random_operations::neighbour::TENANT).
    Tenant {
        services: usize,
    },
    /// The pod of one of these Services stops being ready.
    TenantUnready {
        number: usize,
    },
    /// A pod of that Service becomes ready, or stops being ready.
    CrowdReady {
        number: usize,
        ready: bool,
    },
    /// Admission refuses updates and deletions of the slices of this choice, a third of all.
    RefuseSlices {
        choice: u8,
        milliseconds: u64,
    },
    /// All replicas are restarted with the gate switched.
    SwitchGate,
    /// The node lifecycle controller finds that a kubelet has stopped posting.
    LoseKubelet {
        node: &'static str,
    },
    /// It marks the pods of the node as not ready.
    MarkPods {
        node: &'static str,
    },
    /// The kubelet is back.
    RestoreKubelet {
        node: &'static str,
        ready: bool,
    },
    /// It reports on its pods.
    ReportPods {
        node: &'static str,
    },
}

impl Action {
    /// The fault that it is; `None` for the workload.
    pub fn fault(&self) -> Option<Fault> {
        Some(match self {
            Self::Operation { .. }
            | Self::Touch(_)
            | Self::TouchEndpoints
            | Self::Extra { .. }
            | Self::Crowd { .. }
            | Self::CrowdReady { .. }
            | Self::Tenant { .. }
            | Self::TenantUnready { .. }
            | Self::Backup => return None,
            Self::Delegate { .. } => Fault::LabelSwitch,
            Self::Lag { .. } => Fault::Lag,
            Self::Compact => Fault::Compaction,
            Self::Restart { .. } => Fault::Restart,
            Self::RollingRestart { .. } => Fault::RollingRestart,
            Self::Restore { .. } => Fault::Restore,
            Self::Partition { .. } => Fault::Partition,
            Self::Forbid { .. } => Fault::ForbiddenWindow,
            Self::Quota { .. } => Fault::Quota,
            Self::Unauthorized { .. } => Fault::Unauthorized,
            Self::IdleTimeout { .. } => Fault::IdleTimeout,
            Self::Crash { .. } => Fault::Crash,
            Self::CrashAtPoll { .. } => Fault::CrashAtPoll,
            Self::Terminate { .. } => Fault::Terminate,
            Self::Freeze { .. } | Self::FreezeAtPoll { .. } => Fault::Freeze,
            Self::ClockJump { .. } => Fault::ClockJump,
            Self::ClockRate { .. } => Fault::ClockRate,
            Self::StealLease => Fault::LeaseStolen,
            Self::DeleteLease => Fault::LeaseDeleted,
            Self::EditLease => Fault::LeaseEdited,
            Self::Foreign { what, .. } => match what {
                Interference::Edit => Fault::ForeignEdit,
                Interference::Delete => Fault::ForeignDelete,
                Interference::Relabel => Fault::ForeignRelabel,
                Interference::Owner => Fault::ForeignOwner,
                Interference::Recreate => Fault::ForeignRecreate,
                Interference::Nothing => Fault::ForeignNothing,
            },
            Self::DeleteSlices { .. } => Fault::ForeignDeleteAll,
            Self::TakeSlices { .. } => Fault::ForeignTake,
            Self::SecondWriter { .. } => Fault::SecondWriter,
            Self::Policy(policy) => policy.fault(),
            Self::SwitchGate => Fault::GateSwitch,
            Self::RefuseSlices { .. } => Fault::RefusedSlice,
            Self::LoseKubelet { .. }
            | Self::MarkPods { .. }
            | Self::RestoreKubelet { .. }
            | Self::ReportPods { .. } => Fault::KubeletLost,
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation { operation, touch } if touch.is_empty() => write!(f, "{operation}"),
            Self::Operation { operation, touch } => write!(f, "{operation}; then touch {touch:?}"),
            other => write!(f, "{other:?}"),
        }
    }
}
