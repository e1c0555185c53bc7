//! The `process_*` metrics that Prometheus' own client libraries export, read from `/proc`.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use kube_api::computed::{self, encode_value};
use prometheus_client::metrics::MetricType::{self, Counter, Gauge};
use prometheus_client::registry::Registry;

/// Clock ticks a second in `/proc`: fixed at 100 in the Linux user-space interface on every architecture we build for.
const TICKS_PER_SECOND: f64 = 100.0;

/// The contents of `/proc/self`; empty what cannot be read.
struct Proc {
    status: String,
    stat: String,
    limits: String,
    netstat: String,
}

/// A name, a help text, the type, and the figure, if it can be read.
type Metric = (&'static str, &'static str, MetricType, fn(&Proc) -> Option<f64>);

const METRICS: [Metric; 9] = [
    ("process_resident_memory_bytes", "Resident memory size in bytes", Gauge, |proc| {
        kilobytes(&proc.status, "VmRSS:")
    }),
    ("process_virtual_memory_bytes", "Virtual memory size in bytes", Gauge, |proc| {
        kilobytes(&proc.status, "VmSize:")
    }),
    (
        "process_virtual_memory_max_bytes",
        "Maximum amount of virtual memory available in bytes",
        Gauge,
        |proc| limit(&proc.limits, "Max address space"),
    ),
    ("process_open_fds", "Number of open file descriptors", Gauge, |_| open_files()),
    ("process_max_fds", "Maximum number of open file descriptors", Gauge, |proc| {
        limit(&proc.limits, "Max open files")
    }),
    ("process_start_time_seconds", "Start time of the process since unix epoch in seconds", Gauge, |proc| {
        start(&proc.stat)
    }),
    ("process_cpu_seconds_total", "Total user and system CPU time spent in seconds", Counter, |proc| {
        cpu_seconds(&proc.stat)
    }),
    (
        "process_network_receive_bytes_total",
        "Number of bytes received by the process over the network",
        Counter,
        |proc| octets(&proc.netstat, "InOctets"),
    ),
    (
        "process_network_transmit_bytes_total",
        "Number of bytes sent by the process over the network",
        Counter,
        |proc| octets(&proc.netstat, "OutOctets"),
    ),
];

/// Registers the `process_*` metrics of every component: memory, CPU time, network, open files and start time. Each scrape reads
/// `/proc/self`, and leaves out what cannot be read.
pub fn register_process_metrics(registry: &mut Registry) {
    let read = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    computed::register(registry, move |encoder| {
        let (status, stat, limits, netstat) =
            (read("status"), read("stat"), read("limits"), read("net/netstat"));
        let proc = Proc { status, stat, limits, netstat };
        for (name, help, metric_type, figure) in METRICS {
            if let Some(figure) = figure(&proc) {
                encode_value(encoder, name, help, metric_type, &figure)?;
            }
        }
        Ok(())
    });
}

/// The start of this process, as its metric has it; the present if `/proc` does not tell.
pub fn process_start() -> Timestamp {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let since_epoch = start(&stat).and_then(|seconds| SignedDuration::try_from_secs_f64(seconds).ok());
    since_epoch.and_then(|time| Timestamp::from_duration(time).ok()).unwrap_or_else(Timestamp::now)
}

fn kilobytes(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok().map(|kilobytes| kilobytes * 1024.0)
}

/// A field of `/proc/self/stat` by its number in proc(5); the name in field 2 may contain anything.
fn stat_field(stat: &str, number: usize) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((stat_field(stat, 14)? + stat_field(stat, 15)?) / TICKS_PER_SECOND)
}

fn start(stat: &str) -> Option<f64> {
    let system = fs::read_to_string("/proc/stat").ok()?;
    let boot: f64 = system.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + stat_field(stat, 22)? / TICKS_PER_SECOND)
}

#[allow(clippy::cast_precision_loss)] // a number of open files
fn open_files() -> Option<f64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as f64)
}

/// The soft limit; the largest number if there is none, as in upstream.
#[allow(clippy::cast_precision_loss)] // that large number is only a sign
fn limit(limits: &str, what: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(what))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX as f64),
        number => number.parse().ok(),
    }
}

/// A number from the IP counters, whose names are in one line and values in the next. They are those of the network
/// namespace, as in upstream; the kernel has none for a process.
fn octets(netstat: &str, name: &str) -> Option<f64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("IpExt:"));
    let (names, values) = (lines.next()?.split_whitespace(), lines.next()?.split_whitespace());
    names.zip(values).find(|(found, _)| *found == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_fields_are_parsed_for_any_process_name() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 13 14 15 16 17 18 12345 20";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(stat_field(stat, 22), Some(12345.0));
        assert_eq!(kilobytes("VmPeak:\t 9 kB\nVmRSS:\t   2048 kB\n", "VmRSS:"), Some(2_097_152.0));
        let limits = "Max open files            1024                 524288               files\n\
                      Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(limit(limits, "Max open files"), Some(1024.0));
        assert_eq!(limit(limits, "Max address space"), Some(18_446_744_073_709_551_615.0));
        assert_eq!(limit(limits, "Max msgqueue size"), None);
        let netstat = "TcpExt: InOctets B\nTcpExt: 1 2\nIpExt: InNoRoutes InOctets\nIpExt: 0 17\n";
        assert_eq!(octets(netstat, "InOctets"), Some(17.0));
        assert_eq!(octets(netstat, "OutOctets"), None);
        assert_eq!(kilobytes("", "VmRSS:"), None);
    }
}
