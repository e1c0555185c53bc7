//! The kinds of faults, and how often they happened.

use std::fmt;

/// Declares the kinds, and all of them in this order.
macro_rules! faults {
    ($($fault:ident),* $(,)?) => {
        /// A kind of fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fault {
            $($fault),*
        }

        impl Fault {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$fault),*];
        }
    };
}

faults! {
    // of a request
    Slow, Conflict, TooManyRequests, InternalError, Unavailable, TimeoutBefore, TimeoutAfter, Forbidden,
    LostRequest, LostAnswer, BrokenBefore, BrokenAfter,
    // of a watch
    WatchCut, WatchEnded, WatchSilent, WatchDead, PartialList, DuplicateBookmark,
    // of the API server
    Lag, Compaction, Restart, RollingRestart, Restore, Partition, ForbiddenWindow, Quota, Unauthorized,
    // of a balancer before it
    IdleTimeout,
    // of a replica
    Crash, CrashAtPoll, Terminate, Freeze, ClockJump, ClockRate,
    // of other clients
    LeaseStolen, LeaseDeleted, LeaseEdited, ForeignEdit, ForeignDelete, ForeignRelabel, ForeignOwner,
    ForeignRecreate,
    // of operators
    LabelSwitch, GateSwitch,
    // of hostile clients and policies
    ForeignNothing, ForeignDeleteAll, ForeignTake, SecondWriter, PolicyMark, PolicyReassign,
    // of kubelets
    KubeletLost,
    // of admission
    RefusedSlice,
}

impl Fault {
    /// Those that happen to single requests, with a rate.
    pub const OF_REQUESTS: &'static [Self] = Self::ALL.split_at(12).0;
    /// Those that happen to watches, with a rate.
    pub const OF_WATCHES: &'static [Self] = Self::ALL.split_at(12).1.split_at(6).0;
    /// Those that are in the timeline of any seed.
    pub const OF_TIMELINES: &'static [Self] = Self::ALL.split_at(18).1.split_at(26).0;

    /// The name in reports and on the command line.
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    /// The fault of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|fault| fault.name() == name)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// A fault at one request of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// The number of the request, from 0, without those of the recorder of events.
    pub request: u64,
    pub accident: Accident,
}

/// The kind of accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accident {
    /// The process is killed before the request is sent.
    CrashBefore,
    /// The process is killed when the request has had its effect.
    CrashAfter,
    /// There is no answer, and no end of the connection.
    LostAnswer,
    /// The connection is reset instead of an answer.
    BrokenAnswer,
}

impl Accident {
    pub const ALL: [Self; 4] = [Self::CrashBefore, Self::CrashAfter, Self::LostAnswer, Self::BrokenAnswer];

    /// Its kind.
    pub fn fault(self) -> Fault {
        match self {
            Self::CrashBefore | Self::CrashAfter => Fault::Crash,
            Self::LostAnswer => Fault::LostAnswer,
            Self::BrokenAnswer => Fault::BrokenAfter,
        }
    }
}

/// The number of times that each fault happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts([u64; Fault::ALL.len()]);

impl Default for Counts {
    fn default() -> Self {
        Self([0; Fault::ALL.len()])
    }
}

impl Counts {
    /// Counts one.
    pub fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// The number of a fault.
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_and_groups() {
        for fault in Fault::ALL.iter().copied() {
            assert_eq!(Fault::named(&fault.name()), Some(fault));
        }
        assert_eq!(Fault::OF_REQUESTS.last(), Some(&Fault::BrokenAfter));
        assert_eq!(Fault::OF_WATCHES.last(), Some(&Fault::DuplicateBookmark));
        assert_eq!(Fault::OF_TIMELINES.first(), Some(&Fault::Lag));
        assert_eq!(Fault::OF_TIMELINES.last(), Some(&Fault::GateSwitch));
    }
}
