//! The command line.

use std::time::Duration;

use clap::Parser;
use tests::manager::{Controller, Kind, LeaderElection, ManagerOptions};

use crate::fault::Fault;

/// Runs random operations on two real API servers, with kube-controller-manager on one and endpoint-controller-manager on
/// the other, both behind proxies that fail, and compares Endpoints and EndpointSlices with what they should be whenever
/// the faults have ceased.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask soak-faults")]
pub(crate) struct Options {
    /// Minutes in all; the last round is finished.
    #[arg(long, default_value_t = 30)]
    minutes: u64,
    /// Names the operations and faults. Their effect also depends on the speed of the machine.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Seconds of operations and faults before each check.
    #[arg(long, default_value_t = 150)]
    round: u64,
    /// Seconds after the last fault within which the objects must be right.
    #[arg(long, default_value_t = 120)]
    bound: u64,
    /// Replicas of each program, one of which leads.
    #[arg(long, default_value_t = 2)]
    pub(crate) replicas: usize,
    /// --max-endpoints-per-slice of both.
    #[arg(long, default_value_t = 5)]
    pub(crate) max: u32,
    /// The longest pause between two operations, in milliseconds.
    #[arg(long, default_value_t = 700)]
    pub(crate) pause: usize,
    /// Run only one of the two. Objects that upstream leaves wrong are counted, and are not a failure.
    #[arg(long, value_enum)]
    only: Option<Kind>,
    /// No faults: shows what goes wrong without them.
    #[arg(long)]
    pub(crate) calm: bool,
    /// Leave these kinds of faults out.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) without: Vec<Fault>,
    /// Wrong lines to print for each program and round.
    #[arg(long, default_value_t = 4)]
    pub(crate) lines: usize,
}

impl Options {
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        Kind::only(self.only)
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs(60 * self.minutes)
    }

    pub(crate) fn round(&self) -> Duration {
        Duration::from_secs(self.round)
    }

    pub(crate) fn bound(&self) -> Duration {
        Duration::from_secs(self.bound)
    }

    /// The options of both programs: the same flags.
    pub(crate) fn manager(&self) -> ManagerOptions {
        ManagerOptions {
            max_endpoints_per_slice: self.max,
            leader_election: Some(LeaderElection::DEFAULT),
            ..ManagerOptions::of(Controller::ALL)
        }
    }
}
