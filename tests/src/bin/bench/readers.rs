//! The memory of the commands that read a whole cluster, once upstream has made all slices of it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tests::binaries;
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, Kind};
use tests::process::{Process, Usage};
use tests::shadow::Shadow;

use crate::measure::{Bench, QUIET, quiet};
use crate::options::Options;
use crate::report::megabytes;
use crate::seed;

/// The commands that end by themselves.
const COMMANDS: [&str; 4] = ["audit", "explain -A", "explain -A -o json", "preflight"];
/// The command whose process goes on.
const PAGE: &str = "explain -A --serve";
/// The time between two looks at a process, of whose peak memory the last one counts.
const LOOK: Duration = Duration::from_millis(5);

/// Measures each command alone. Returns the table.
pub(crate) async fn run(options: &Options) -> String {
    eprintln!("starting and filling a cluster");
    let cluster = seed::cluster(options).await;
    eprintln!("making all slices under upstream");
    let (mut bench, begun) = Bench::start(Kind::Upstream, cluster, options.manager(Controller::ALL), options);
    bench.all_slices(begun).await;
    let cluster = &bench.cluster;

    let mut text = format!("{:30}{:>12}{:>12}\n", "", "peak RSS, MB", "CPU seconds");
    let mut row = |what: &str, usage: Usage| {
        let (peak, cpu) = (megabytes(usage.peak_rss), usage.cpu.as_secs_f64());
        writeln!(text, "{what:30}{peak:12.1}{cpu:12.2}").unwrap();
    };
    for command in COMMANDS {
        eprintln!("{command}");
        row(command, to_its_end(start(cluster, command), options.limit()).await);
    }
    eprintln!("{PAGE}");
    row(PAGE, quiet(&mut [&mut start(cluster, PAGE)], QUIET, options.limit()).await);
    eprintln!("shadow");
    let shadow = Shadow::start(cluster, &[]).await;
    shadow.at_rest(options.limit()).await;
    row("shadow", shadow.usage());
    shadow.end(cluster).await;
    bench.manager.stop().await;
    text
}

fn start(cluster: &Cluster, command: &str) -> Process {
    let args = command.split(' ').map(ToOwned::to_owned);
    let args = args.chain([format!("--kubeconfig={}", cluster.kubeconfig(User::Admin).display())]);
    Process::start("kubectl-endpoints", &binaries::kubectl_endpoints(), cluster.folder(), args)
}

/// The usage of a process just before its end.
async fn to_its_end(mut process: Process, limit: Duration) -> Usage {
    let (start, mut last) = (Instant::now(), None);
    loop {
        last = process.usage_if_running().or(last);
        if let Some(status) = process.exited() {
            // Findings are not a failure of the command.
            assert!(matches!(status.code(), Some(0 | 3 | 6)), "{status}: {}", process.tail());
            return last.expect("a look before the end");
        }
        assert!(start.elapsed() < limit, "it does not end: {}", process.tail());
        tokio::time::sleep(LOOK).await;
    }
}
