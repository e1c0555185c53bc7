//! The timeline of a start from an empty state: where its seconds go.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::Api;
use tests::audit::Request;
use tests::cluster::Cluster;
use tests::manager::{Controller, Kind, Manager};
use tests::observe::Observer;
use tests::process::usage;

use crate::measure::launch;
use crate::options::Options;
use crate::report::megabytes;
use crate::seed;
use crate::tally::Tally;

/// The time between two readings.
const TICK: Duration = Duration::from_millis(100);
/// The most rows of the table.
const ROWS: u32 = 40;
/// The programs whose CPU is shown, in the order of [`Sample::cpu`].
const PROGRAMS: [&str; 3] = ["API server", "etcd", "program"];

/// A reading of all processes.
struct Sample {
    /// Since the start.
    at: Duration,
    /// CPU time of the API server, etcd, and the program.
    cpu: [Duration; 3],
    /// Memory of the program, in bytes.
    rss: u64,
    /// Services whose slices are complete.
    complete: usize,
}

/// Prints a timeline of each program with each list of controllers.
pub(crate) async fn print(lists: &[&'static [Controller]], options: &Options) {
    for controllers in lists {
        for kind in options.kinds() {
            println!("\n{}", Box::pin(run(kind, controllers, options)).await);
        }
    }
}

/// Starts a program on a new cluster, and returns the table of what happened until all slices were there.
async fn run(kind: Kind, controllers: &'static [Controller], options: &Options) -> String {
    eprintln!("{}: starting and filling a cluster", kind.name());
    let cluster = seed::cluster(options).await;
    let observer = Observer::start(Api::all(cluster.client()), Tally::new(options.pods));
    let manager_options = options.manager(controllers);
    let (mark, begin, start) = (cluster.audit().mark(), Timestamp::now(), Instant::now());
    let mut manager = launch(kind, &cluster, &manager_options);
    let (samples, populated) = watch(&cluster, &mut manager, &observer, options, start).await;
    let mut requests = cluster.audit().since(mark);
    requests.retain(|request| request.user == manager_options.user.name());
    manager.stop().await;
    let title = format!("{}: {}", kind.name(), Controller::list(controllers));
    let since = |time: Timestamp| Duration::try_from(time.duration_since(begin)).unwrap_or_default();
    [title, moments(&requests, since, &populated), table(&requests, since, &samples)].join("\n")
}

/// Reads all processes until the slices of all Services are complete. Also returns the log lines about caches, and their
/// times.
async fn watch(
    cluster: &Cluster,
    manager: &mut Manager,
    observer: &Observer<Tally>,
    options: &Options,
    start: Instant,
) -> (Vec<Sample>, Vec<(Duration, String)>) {
    let [apiserver, etcd] = cluster.server_ids();
    let ids = [apiserver, etcd, manager.process().id()];
    let (mut samples, mut populated) = (Vec::new(), Vec::new());
    loop {
        manager.process().alive().unwrap_or_else(|error| panic!("{error}"));
        let usages = ids.map(|id| usage(id).expect("it runs"));
        let (at, complete) = (start.elapsed(), observer.with(|tally| tally.complete()));
        samples.push(Sample { at, cpu: usages.map(|usage| usage.cpu), rss: usages[2].rss, complete });
        let log = std::fs::read_to_string(manager.process().log()).expect("the log");
        let lines = log.lines().filter(|line| line.contains("Caches populated")).skip(populated.len());
        let lines: Vec<_> = lines.map(|line| (at, subject(line))).collect();
        populated.extend(lines);
        if complete == options.services as usize {
            return (samples, populated);
        }
        assert!(at < options.limit(), "{complete} Services are complete; {}", manager.process().tail());
        tokio::time::sleep(TICK).await;
    }
}

/// The kind that a log line about caches names.
fn subject(line: &str) -> String {
    let word =
        line.split_whitespace().find(|word| word.starts_with("type=") || word.starts_with("resource="));
    let value = word.and_then(|word| word.split_once('=')).map_or(line, |(_, value)| value);
    value.trim_matches('"').to_owned()
}

/// The single events, one a line: lists and watches begun, caches filled, first and last write.
fn moments(
    requests: &[Request],
    since: impl Fn(Timestamp) -> Duration,
    populated: &[(Duration, String)],
) -> String {
    let reads = requests.iter().filter(|request| matches!(request.verb.as_str(), "list" | "watch"));
    let mut moments: Vec<(Duration, String)> = reads
        .map(|read| {
            let (verb, took) = (&read.verb, since(read.answered).saturating_sub(since(read.received)));
            let what = if verb == "watch" { "header after" } else { "answered in" };
            (since(read.received), format!("{verb} {}, {what} {:.2} s", read.resource, took.as_secs_f64()))
        })
        .collect();
    moments.extend(populated.iter().map(|(at, kind)| (*at, format!("cache filled: {kind}"))));
    let mut writes: Vec<&Request> = requests.iter().filter(|request| request.is_write()).collect();
    writes.sort_by_key(|write| write.answered);
    if let (Some(first), Some(last)) = (writes.first(), writes.last()) {
        moments.push((since(first.received), format!("first write: {} {}", first.verb, first.resource)));
        moments.push((since(last.answered), format!("last of {} writes", writes.len())));
    }
    moments.sort();
    moments.iter().fold(String::new(), |mut text, (at, what)| {
        writeln!(text, "{:9.2} s  {what}", at.as_secs_f64()).unwrap();
        text
    })
}

/// Writes a second, the median time of a write, the CPU that each process used, and memory, over time.
fn table(requests: &[Request], since: impl Fn(Timestamp) -> Duration, samples: &[Sample]) -> String {
    let end = samples.last().expect("a sample").at;
    // Whole ticks, so that each row begins at a reading.
    let step = TICK * u32::try_from((end / ROWS).as_millis() / TICK.as_millis() + 1).unwrap();
    let mut text = format!("{:>9}{:>10}{:>10}", "until, s", "writes/s", "ms each");
    for program in PROGRAMS {
        write!(text, "{program:>12}").unwrap();
    }
    writeln!(text, "{:>9}{:>10}   (CPU: cores in use)", "MB", "complete").unwrap();
    let mut before = &samples[0];
    for sample in &samples[1..] {
        let length = sample.at.saturating_sub(before.at);
        if length < step && sample.at < end {
            continue;
        }
        let within =
            |write: &&Request| write.is_write() && (before.at..sample.at).contains(&since(write.answered));
        let mut times: Vec<Duration> = requests
            .iter()
            .filter(within)
            .map(|write| since(write.answered).saturating_sub(since(write.received)))
            .collect();
        times.sort();
        let median = times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1000.0);
        let rate = times.iter().fold(0.0, |sum, _| sum + 1.0) / length.as_secs_f64();
        write!(text, "{:9.1}{rate:10.0}{median:10.1}", sample.at.as_secs_f64()).unwrap();
        for (now, then) in sample.cpu.iter().zip(&before.cpu) {
            write!(text, "{:12.2}", now.saturating_sub(*then).div_duration_f64(length)).unwrap();
        }
        writeln!(text, "{:9.0}{:10}", megabytes(sample.rss), sample.complete).unwrap();
        before = sample;
    }
    text
}
