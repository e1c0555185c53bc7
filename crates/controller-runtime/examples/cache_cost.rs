//! What pods cost in the cache: `cargo run --release -p controller-runtime --example cache_cost [PODS...]`.
//!
//! Prints, for pods whose labels no other pod has and for pods that share theirs: memory, the cost of each way in and
//! out, and the longest single hold of the cache's lock, with a handler that asks which Services a pod concerns, as
//! controllers do.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use controller_runtime::cache::{Cache, Change, Handler, News, PORTION, State};
use controller_runtime::queue::Lane;
use endpointslice::{Interner, LabelSet, Pod, PodFields, Service, ServiceFields};

const NAMESPACES: usize = 10;
const SERVICES: usize = 1000;
const NODES: usize = 5000;

#[derive(Clone, Copy, PartialEq)]
enum Labels {
    Unique,
    Shared,
}

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).map(|size| size.parse().unwrap()).collect();
    let sizes = if sizes.is_empty() { vec![10_000, 100_000, 300_000] } else { sizes };
    for labels in [Labels::Unique, Labels::Shared] {
        let what = if labels == Labels::Unique { "labels of their own" } else { "shared labels" };
        println!("pods with {what}:");
        sizes.iter().for_each(|pods| measure(*pods, labels));
    }
}

/// A handler that does what those of controllers do, but for the queue.
#[derive(Default)]
struct Concerned(AtomicUsize);

impl Handler for Concerned {
    fn pod(&self, change: &Change<Pod>, state: &State, _lane: Lane) {
        self.0.fetch_add(state.services_concerned_by(change).len(), Ordering::Relaxed);
    }
}

/// Keeps the total and the longest of many durations.
#[derive(Default)]
struct Times {
    total: Duration,
    longest: Duration,
}

impl Times {
    fn measure<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = run();
        let took = start.elapsed();
        self.total += took;
        self.longest = self.longest.max(took);
        result
    }

    fn show(&self, what: &str, pods: usize) {
        let each = self.total / u32::try_from(pods).unwrap();
        println!("{:>10} ns each, longest hold {:>9.3?}  {what}", each.as_nanos(), self.longest);
    }
}

fn pod(number: usize, version: &str, labels: Labels, interner: &mut Interner) -> Pod {
    let namespace = format!("ns-{}", number % NAMESPACES);
    let app = format!("app-{}", number / NAMESPACES % (SERVICES / NAMESPACES));
    let (name, node) = (format!("{app}-7d9c5b8f4-{number}"), format!("node-{}", number % NODES));
    let uid = format!("{number:08x}-0000-4000-8000-000000000000");
    let address = format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
    let mut pairs = vec![("app", app.as_str()), ("pod-template-hash", "7d9c5b8f4"), ("team", "shop")];
    if labels == Labels::Unique {
        pairs.extend([("apps.kubernetes.io/pod-name", name.as_str()), ("controller-uid", uid.as_str())]);
    }
    let fields = PodFields {
        namespace: &namespace,
        name: &name,
        uid: &uid,
        resource_version: version,
        labels: pairs,
        node_name: &node,
        addresses: vec![&address],
        ..PodFields::default()
    };
    Pod::new(fields, interner)
}

fn filled_with_services(interner: &mut Interner) -> Cache {
    let cache = Cache::default();
    cache.attach(Arc::new(Concerned::default()), |_| {});
    for number in 0..SERVICES {
        let (namespace, app) =
            (format!("ns-{}", number % NAMESPACES), format!("app-{}", number / NAMESPACES));
        let (name, selector) = (app.as_str(), vec![("app", app.as_str())]);
        let fields = ServiceFields { namespace: &namespace, name, selector, ..ServiceFields::default() };
        cache.upsert(Service::new(fields, interner), Lane::Live);
    }
    cache
}

fn measure(pods: usize, labels: Labels) {
    println!("  {pods}:");
    let mut interner = Interner::default();
    let cache = filled_with_services(&mut interner);
    let before = resident();
    list(&cache, pods, labels, &mut interner).show("listed, in portions", pods);
    println!("{:>10} bytes each, resident", (resident().saturating_sub(before)) / pods);

    let mut select = Times::default();
    let selector: LabelSet = [("app", "app-1")].into_iter().collect();
    let found = select.measure(|| cache.read(|state| state.pods_selected("ns-1", &selector)));
    select.show("selected", black_box(found.sorted()).len());

    let names: Vec<(String, String)> = cache.read(|state| {
        state.pods.iter().map(|pod| (pod.namespace.to_string(), pod.name.to_string())).collect()
    });
    let mut removed = Times::default();
    for (namespace, name) in names {
        removed.measure(|| cache.remove::<Pod>(&namespace, &name, Lane::Live));
    }
    removed.show("removed, one by one", pods);

    list(&cache, pods, labels, &mut interner);
    cache.begin_list::<Pod>();
    let mut vanished = Times::default();
    let mut end = vanished.measure(|| cache.end_list::<Pod>("1"));
    while vanished.measure(|| end.step()) {}
    vanished.show("vanished during a gap", pods);
}

fn list(cache: &Cache, pods: usize, labels: Labels, interner: &mut Interner) -> Times {
    let mut times = Times::default();
    cache.begin_list::<Pod>();
    for first in (0..pods).step_by(PORTION) {
        let numbers = first..pods.min(first + PORTION);
        let news: Vec<News<Pod>> =
            numbers.map(|number| News::Present(pod(number, "1", labels, interner))).collect();
        times.measure(|| cache.apply(news, "", Lane::Background));
    }
    cache.finish_list::<Pod>("1");
    times
}

/// Resident memory of this process, in bytes; 0 where there is no `/proc`.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or_default() * 4096
}
