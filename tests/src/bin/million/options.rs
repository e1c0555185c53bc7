//! Options of the measurement.

use std::path::PathBuf;

use clap::Parser;

/// Measures endpoint-controller-manager on a generated cluster: a small server on loopback sends the lists and watches of
/// an API server with this many objects, all of them as our controllers would have left them, and then events of pods.
#[derive(Debug, Clone, Parser)]
#[command(bin_name = "cargo xtask bench-million")]
pub(crate) struct Options {
    /// Number of pods.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) pods: u32,
    /// Number of pods of each Service.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) pods_per_service: u32,
    /// Number of namespaces [default: one for ten Services].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) namespaces: Option<u32>,
    /// Number of nodes [default: 15 for 1,000 pods].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) nodes: Option<u32>,
    /// Events of pods per second.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(crate) rate: u32,
    /// One event in this number makes a pod ready or unready, and so causes two writes; the others change nothing that endpoints
    /// depend on, like most that a kubelet sends.
    #[arg(long, default_value_t = 1, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) every: u32,
    /// Seconds for which pods change; 0 to measure only the start.
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u32,
    /// Seconds that the start may take.
    #[arg(long, default_value_t = 900)]
    pub(crate) limit: u32,
    /// --controllers of the program.
    #[arg(
        long,
        default_value = "endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller"
    )]
    pub(crate) controllers: String,
    /// A file for the figures of the start, as JSON; `hack/images/plots` adds them to those of hack/bench.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Other flags of the program, such as --concurrent-service-endpoint-syncs=50.
    #[arg(last = true)]
    pub(crate) flags: Vec<String>,
}
