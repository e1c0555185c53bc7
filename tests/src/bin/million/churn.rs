//! Events of pods at a steady rate.

use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::cluster::Cluster;
use crate::kinds::Kind;
use crate::wire;

/// An event of a pod.
struct Change {
    pod: usize,
    ready: bool,
    /// It was not so before.
    is_news: bool,
}

/// Sends events for a time: one pod after another becomes unready, or ready again, in one of `every` events; the others
/// change nothing that endpoints depend on. Consecutive events are of different Services, as far as there are enough.
/// Returns the number of events.
pub(crate) async fn run(cluster: &Cluster, rate: u32, every: u32, time: Duration) -> u64 {
    let world = &cluster.objects.world;
    let mut unready = vec![false; world.pods];
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let (start, mut sent) = (Instant::now(), 0_u64);
    while start.elapsed() < time {
        ticks.tick().await;
        let due = start.elapsed().as_micros() as u64 * u64::from(rate) / 1_000_000;
        // At most what a tick is for, several times: a harness that was not scheduled does not send a second's events.
        let count = due.saturating_sub(sent).min(u64::from(rate) / 100 + 1);
        if count == 0 {
            continue;
        }
        let pods = (sent..sent + count)
            .map(|event| (event, pod_of(event as usize, world.services, world.pods_per_service)));
        let changes: Vec<Change> = pods
            .filter(|(_, pod)| *pod < world.pods)
            .map(|(event, pod)| {
                let is_news = event.is_multiple_of(u64::from(every));
                unready[pod] ^= is_news;
                Change { pod, ready: !unready[pod], is_news }
            })
            .collect();
        send(cluster, &changes);
        sent += count;
    }
    sent
}

/// Round after round, the Services in an order without neighbours, of each Service the next pod.
fn pod_of(event: usize, services: usize, pods_per_service: usize) -> usize {
    /// A prime above all counts of Services, so that each round meets every Service once.
    const STRIDE: usize = 1_000_003;
    let (round, place) = (event / services, event % services);
    (place * STRIDE % services) * pods_per_service + round % pods_per_service
}

fn send(cluster: &Cluster, changes: &[Change]) {
    let objects = &cluster.objects;
    cluster.watchers.change(Kind::Pods, changes.len() as u64, |first| {
        let (mut frames, mut raw) = (Vec::new(), Vec::new());
        for (version, Change { pod, ready, is_news }) in (first..).zip(changes) {
            raw.clear();
            objects.samples.pod(&objects.world, *pod, *ready, version, &mut raw);
            wire::event(&mut frames, "MODIFIED", Kind::Pods.types(), &raw);
            if *is_news {
                cluster.slices.changes(*pod, *ready);
                cluster.endpoints.changes(*pod, *ready);
            }
        }
        (frames, ())
    });
}
