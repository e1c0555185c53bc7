//! The cost of `shadow` beside upstream, and of a normal run of our program on the same cluster.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use kube::Api;
use tests::manager::{Controller, Kind};
use tests::observe::Observer;
use tests::process::Usage;
use tests::shadow::Shadow;

use crate::measure::{Begun, Bench, launch};
use crate::options::Options;
use crate::report::megabytes;
use crate::seed;
use crate::tally::Tally;

/// Measures `shadow` while pods change under upstream, and then a normal run with the same number of changes. Returns the
/// table.
pub(crate) async fn run(options: &Options) -> String {
    eprintln!("starting and filling a cluster");
    let cluster = seed::cluster(options).await;
    let pods = seed::pods(&cluster, options).await;
    let half = pods.len() / 2;
    let changed = half.min(options.churn() as usize);
    let observer = Observer::start(Api::all(cluster.client()), Tally::new(options.pods));
    let begun = Begun { at: Instant::now(), cpu: Duration::ZERO, mark: cluster.audit().mark() };
    let manager_options = options.manager(Controller::ALL);
    eprintln!("making all slices under upstream");
    let manager = launch(Kind::Upstream, &cluster, &manager_options);
    let mut bench = Bench { manager, observer, cluster, manager_options, options };
    bench.all_slices(begun).await;

    eprintln!("shadow beside upstream");
    let shadow = Shadow::start(&bench.cluster, &[]).await;
    shadow.at_rest(options.limit()).await;
    let shadow_start = shadow.usage();
    bench.churn(&pods[..changed]).await;
    shadow.at_rest(options.limit()).await;
    bench.idle().await;
    let shadow_end = shadow.usage();
    let end = shadow.end(&bench.cluster).await;

    eprintln!("a normal run in place of upstream");
    let Bench { manager, observer, cluster, manager_options, .. } = bench;
    manager.stop().await;
    let mut manager = launch(Kind::Ours, &cluster, &manager_options);
    manager.ready().await;
    let mut bench = Bench { manager, observer, cluster, manager_options, options };
    bench.idle().await;
    let ours_start = bench.manager.usage();
    bench.churn(&pods[half..half + changed]).await;
    bench.idle().await;
    let ours_end = bench.manager.usage();

    let mut text = format!("{:50}{:>12}{:>12}\n", "", "shadow", "normal run");
    let mut row = |what: &str, digits: usize, of: fn(&Usage) -> f64, usages: [&Usage; 2]| {
        writeln!(text, "{what:50}{:12.digits$}{:12.digits$}", of(usages[0]), of(usages[1])).unwrap();
    };
    let start = [&shadow_start, &ours_start];
    row("start: CPU seconds", 2, |it| it.cpu.as_secs_f64(), start);
    row("start: RSS, MB", 1, |it| megabytes(it.rss), start);
    let changes = format!("{changed} pods have stopped being ready: ");
    row(&(changes.clone() + "CPU seconds"), 2, |it| it.cpu.as_secs_f64(), [&shadow_end, &ours_end]);
    row(&(changes.clone() + "RSS, MB"), 1, |it| megabytes(it.rss), [&shadow_end, &ours_end]);
    row(&(changes + "peak RSS, MB"), 1, |it| megabytes(it.peak_rss), [&shadow_end, &ours_end]);
    let (differences, lasting) = (end.sum("differences"), end.sum("lasting"));
    writeln!(text, "differences {differences}, the longest {:.1} s, lasting {lasting}", end.longest())
        .unwrap();
    text
}
