//! Measures pods in the cache: `cargo run --release -p endpoint-informers --example cache_cost [PODS...]`.
//!
//! Prints, for pods with unique labels and for pods that share their labels: memory, the time to add, select and remove
//! a pod, and the longest hold of the cache's lock, with a handler that queries the affected Services, as controllers
//! do.
#![allow(clippy::unwrap_used)]

use std::mem;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use endpoint_informers::cache::{Cache, Change, Delta, Handler, State};
use endpoint_informers::kinds::SelectedPods;
use endpointslice::model::{LabelSet, PodFields, ServiceFields};
use endpointslice::{Interner, Pod, Service};
use parking_lot::Mutex;

const NAMESPACES: usize = 10;
const SERVICES: usize = 1000;
const NODES: usize = 5000;
/// The objects that are applied in one hold of the lock: as many as a list-watch brings at once, and the end of a list removes.
const BATCH: usize = 128;
/// The number of rounds, of which the best is printed: other processes can only slow a round down.
const ROUNDS: usize = 3;

#[derive(Clone, Copy, PartialEq)]
enum Labels {
    Unique,
    Shared,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [labels, pods] = arguments.as_slice()
        && let Some(labels) = [Labels::Unique, Labels::Shared].into_iter().find(|l| l.name() == labels)
    {
        return measure(pods.parse().unwrap(), labels);
    }
    let sizes: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let sizes = if sizes.is_empty() { vec!["10000", "100000", "300000"] } else { sizes };
    for labels in [Labels::Unique, Labels::Shared] {
        for pods in &sizes {
            println!("{pods} pods with {} labels:", labels.name());
            // In a process of its own, so that memory is measured from the start.
            let this = std::env::current_exe().unwrap();
            assert!(Command::new(this).args([labels.name(), pods]).status().unwrap().success());
        }
    }
}

impl Labels {
    fn name(self) -> &'static str {
        if self == Self::Unique { "unique" } else { "shared" }
    }
}

/// A handler that runs the queries of a controller's handlers and records when it was last called: the rest of a call
/// to the cache unlocks and frees memory.
#[derive(Default)]
struct Affected(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    number: usize,
    last: Option<Instant>,
    /// The last call of each whole batch.
    batches: Vec<Instant>,
}

impl Handler for Affected {
    fn pod(&self, change: &Change<Pod>, state: &State, _is_initial_list: bool) {
        std::hint::black_box(state.services_affected_by_pod(change));
        let (mut calls, now) = (self.0.lock(), Instant::now());
        calls.last = Some(now);
        calls.number += 1;
        if calls.number.is_multiple_of(BATCH) {
            calls.batches.push(now);
        }
    }
}

/// The total and the longest of many holds of the lock.
#[derive(Default)]
struct Holds {
    total: Duration,
    longest: Duration,
}

impl Holds {
    /// Measures a call to the cache. Each batch is a hold of its own.
    fn measure<T>(&mut self, handler: &Affected, run: impl FnOnce() -> T) -> T {
        let mut start = Instant::now();
        let result = run();
        let Calls { last, batches, .. } = mem::take(&mut *handler.0.lock());
        for end in batches.into_iter().chain([last.unwrap_or_else(Instant::now)]) {
            self.total += end - start;
            self.longest = self.longest.max(end - start);
            start = end;
        }
        result
    }
}

/// The best of the rounds so far.
struct Best {
    what: &'static str,
    each: Duration,
    longest: Duration,
}

fn note(best: &mut Vec<Best>, what: &'static str, holds: &Holds, pods: usize) {
    let (each, longest) = (holds.total / u32::try_from(pods).unwrap(), holds.longest);
    match best.iter_mut().find(|best| best.what == what) {
        Some(best) => (best.each, best.longest) = (best.each.min(each), best.longest.min(longest)),
        None => best.push(Best { what, each, longest }),
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

fn filled_with_services(handler: &Arc<Affected>, interner: &mut Interner) -> Cache {
    let cache = Cache::default();
    cache.attach(Arc::clone(handler) as _, |_| {});
    for number in 0..SERVICES {
        let (namespace, app) =
            (format!("ns-{}", number % NAMESPACES), format!("app-{}", number / NAMESPACES));
        let (name, selector) = (app.as_str(), vec![("app", app.as_str())]);
        let fields = ServiceFields { namespace: &namespace, name, selector, ..ServiceFields::default() };
        cache.upsert(Service::new(fields, interner));
    }
    cache
}

fn measure(pods: usize, labels: Labels) {
    let (mut best, mut bytes) = (Vec::new(), None);
    for _ in 0..ROUNDS {
        let used = round(pods, labels, &mut best);
        bytes.get_or_insert(used / pods);
    }
    println!("{:>10} bytes each, resident", bytes.unwrap_or_default());
    for Best { what, each, longest } in best {
        println!("{:>10} ns each, longest hold of the lock {longest:>9.3?}  {what}", each.as_nanos());
    }
}

/// Returns the memory that the pods take.
fn round(pods: usize, labels: Labels, best: &mut Vec<Best>) -> usize {
    let (handler, mut interner) = (Arc::new(Affected::default()), Interner::default());
    let cache = filled_with_services(&handler, &mut interner);
    let before = resident();
    note(best, "listed, in batches", &list(&cache, &handler, pods, labels, &mut interner), pods);
    let used = resident().saturating_sub(before);

    let mut selected = Holds::default();
    let selector: LabelSet = [("app", "app-1")].into_iter().collect();
    let select = |state: &State| state.pods_selected("ns-1", &selector).cloned().collect::<SelectedPods>();
    let found = selected.measure(&handler, || cache.read(select));
    note(best, "selected by one Service", &selected, found.sorted().len());

    let names = |pod: &Arc<Pod>| (pod.namespace.to_string(), pod.name.to_string());
    let names: Vec<(String, String)> = cache.read(|state| state.pods.iter().map(names).collect());
    let mut removed = Holds::default();
    for (namespace, name) in names {
        let deleted = Delta::<Pod>::Delete { namespace, name, resource_version: String::new() };
        removed.measure(&handler, || cache.apply([deleted], "", false));
    }
    note(best, "removed one by one", &removed, pods);

    list(&cache, &handler, pods, labels, &mut interner);
    cache.begin_list::<Pod>();
    let mut vanished = Holds::default();
    vanished.measure(&handler, || cache.finish_list::<Pod>("1"));
    note(best, "vanished during a gap", &vanished, pods);
    used
}

fn list(cache: &Cache, handler: &Affected, pods: usize, labels: Labels, interner: &mut Interner) -> Holds {
    let mut holds = Holds::default();
    cache.begin_list::<Pod>();
    for first in (0..pods).step_by(BATCH) {
        let numbers = first..pods.min(first + BATCH);
        let deltas = numbers.map(|number| Delta::Upsert(pod(number, "1", labels, interner)));
        let deltas: Vec<Delta<Pod>> = deltas.collect();
        holds.measure(handler, || cache.apply(deltas, "", true));
    }
    cache.finish_list::<Pod>("1");
    holds
}

/// Resident memory of this process, in bytes; 0 where there is no `/proc`.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or_default() * 4096
}
