//! The `process_*` metrics that Prometheus' own client libraries export, read from `/proc`.

use std::{fmt, fs};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

/// Reads `/proc/self` at each scrape, and leaves out what cannot be read.
#[derive(Debug)]
pub(crate) struct ProcessMetrics;

/// Clock ticks a second in `/proc`: fixed at 100 in the Linux user-space interface on every architecture we build for.
const TICKS_PER_SECOND: f64 = 100.0;

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let (status, stat) = (read("/proc/self/status"), read("/proc/self/stat"));
        let (limits, netstat) = (read("/proc/self/limits"), read("/proc/self/net/netstat"));
        let address_space = limit(&limits, "Max address space");
        let gauges = [
            ("process_resident_memory_bytes", "Resident memory size in bytes", kilobytes(&status, "VmRSS:")),
            ("process_virtual_memory_bytes", "Virtual memory size in bytes", kilobytes(&status, "VmSize:")),
            (
                "process_virtual_memory_max_bytes",
                "Maximum amount of virtual memory available in bytes",
                address_space,
            ),
            ("process_open_fds", "Number of open file descriptors", open_files()),
            ("process_max_fds", "Maximum number of open file descriptors", limit(&limits, "Max open files")),
            (
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds",
                start(&stat),
            ),
        ];
        let (received, sent) = (octets(&netstat, "InOctets"), octets(&netstat, "OutOctets"));
        let counters = [
            (
                "process_cpu_seconds_total",
                "Total user and system CPU time spent in seconds",
                cpu_seconds(&stat),
            ),
            (
                "process_network_receive_bytes_total",
                "Number of bytes received by the process over the network",
                received,
            ),
            (
                "process_network_transmit_bytes_total",
                "Number of bytes sent by the process over the network",
                sent,
            ),
        ];
        let gauges = gauges.into_iter().map(|metric| (metric, MetricType::Gauge));
        let counters = counters.into_iter().map(|metric| (metric, MetricType::Counter));
        for ((name, help, value), metric_type) in gauges.chain(counters) {
            if let Some(value) = value {
                encode(&mut encoder, name, help, metric_type, value)?;
            }
        }
        Ok(())
    }
}

/// Encodes a metric without labels. The name of a counter is left as it is: the type line of the 0.0.4 text format carries
/// `_total` too.
pub(crate) fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric_type: MetricType,
    value: f64,
) -> fmt::Result {
    encoder.encode_descriptor(name, help, None, metric_type)?.encode_gauge(&value)
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
