//! One list-watch against one script, and the changes that the cache reports.

use std::sync::Arc;
use std::time::Duration;

use endpointslice::Pod;
use kube_api::ApiClient;
use kube_api::time::Instant;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use scripted_api::script::{Script, Step};
use scripted_api::wire::Wire;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cache::{Cache, CachedResource, Change, Handler, State};
use crate::list_watch::{ListWatch, ListWatchMetrics, Lists, Timing};

/// A cache that a list-watch fills from a script.
pub(crate) struct World {
    pub(crate) script: Arc<Script>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) synced: watch::Receiver<bool>,
    lists: watch::Receiver<Lists>,
    relist_requests: watch::Sender<u64>,
    changes: Arc<Changes>,
    registry: Registry,
    running: JoinHandle<()>,
}

/// The selectors of a list-watch.
#[derive(Clone, Copy, Default)]
pub(crate) struct Selectors {
    pub(crate) labels: Option<&'static str>,
    pub(crate) fields: Option<&'static str>,
}

/// Far more than any script takes, on a paused clock.
const LONG: Duration = Duration::from_secs(24 * 3600);

impl World {
    /// Plays the script to its end, in memory and on the paused clock.
    pub(crate) async fn play(wire: Wire, steps: impl IntoIterator<Item = Step>) -> Self {
        Self::play_kind::<Pod>(wire, steps).await
    }

    pub(crate) async fn play_kind<K: CachedResource>(
        wire: Wire,
        steps: impl IntoIterator<Item = Step>,
    ) -> Self {
        Self::play_selected::<K>(wire, Selectors::default(), steps).await
    }

    /// The same for objects that selectors select.
    pub(crate) async fn play_selected<K: CachedResource>(
        wire: Wire,
        selectors: Selectors,
        steps: impl IntoIterator<Item = Step>,
    ) -> Self {
        let script = Script::new(steps);
        let world = Self::start_selected::<K>(script.client(), &script, wire, Timing::default(), selectors);
        world.script.played(LONG).await;
        world
    }

    /// Starts a list-watch.
    pub(crate) fn start<K: CachedResource>(
        client: kube::Client,
        script: &Arc<Script>,
        Wire(encoding): Wire,
        timing: Timing,
    ) -> Self {
        Self::start_selected::<K>(client, script, Wire(encoding), timing, Selectors::default())
    }

    fn start_selected<K: CachedResource>(
        client: kube::Client,
        script: &Arc<Script>,
        Wire(encoding): Wire,
        timing: Timing,
        selectors: Selectors,
    ) -> Self {
        let (cache, changes) = (Arc::new(Cache::default()), Arc::new(Changes::default()));
        cache.attach(Arc::clone(&changes) as Arc<dyn Handler>, |_| {});
        let client = ApiClient::new(client, encoding, "test/1.0");
        let mut registry = Registry::default();
        let metrics = ListWatchMetrics::register(&mut registry, "test");
        let list_watch = ListWatch::<K>::new(client, Arc::clone(&cache), timing).with_metrics(&metrics);
        let list_watch = match selectors.labels {
            Some(selector) => list_watch.with_label_selector(selector),
            None => list_watch,
        };
        let list_watch = match selectors.fields {
            Some(selector) => list_watch.with_field_selector(selector),
            None => list_watch,
        };
        let relist_requests = watch::Sender::new(0);
        let list_watch = list_watch.with_relist_requests(relist_requests.subscribe());
        let (synced, lists) = (list_watch.synced(), list_watch.lists());
        let running = tokio::spawn(list_watch.run());
        Self { script: Arc::clone(script), cache, synced, lists, relist_requests, changes, registry, running }
    }

    /// Requests a relist. Returns the time of the request.
    pub(crate) fn request_relist(&self) -> Instant {
        self.relist_requests.send_modify(|seq| *seq += 1);
        Instant::now()
    }

    /// Waits until a list is complete that was requested at this time or later.
    pub(crate) async fn listed_since(&mut self, since: Instant) {
        let is_later = |lists: &Lists| lists.complete.is_some_and(|requested| requested >= since);
        self.lists.wait_for(is_later).await.unwrap();
    }

    pub(crate) fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// The pods in the cache, by name.
    pub(crate) fn pods(&self) -> Vec<String> {
        let mut pods: Vec<String> = self.cache.read(|state| state.pods.iter().map(|pod| show(pod)).collect());
        pods.sort_unstable();
        pods
    }

    /// The number of objects of a kind that could not be decoded, from the metrics.
    pub(crate) fn unreadable(&self, resource: &str) -> u64 {
        self.counted("list_watch_unreadable_objects_total", resource)
    }

    /// The numbers of gaps and of failures of the watch of pods.
    pub(crate) fn gaps_and_failures(&self) -> [u64; 2] {
        ["list_watch_gaps_total", "list_watch_failures_total"].map(|metric| self.counted(metric, "pods"))
    }

    /// True if the metrics say that the cache of pods follows the server.
    pub(crate) fn is_live(&self) -> bool {
        self.counted("list_watch_live", "pods") == 1
    }

    fn counted(&self, metric: &str, resource: &str) -> u64 {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        let series = format!("{metric}{{resource=\"{resource}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&series));
        value.expect("exposed from the beginning").parse().unwrap()
    }

    /// The changes that the cache has reported since the last call. Deletions in a row are sorted, because those at the
    /// end of a list are in no particular order.
    pub(crate) fn changes(&self) -> Vec<String> {
        let mut changes = std::mem::take(&mut *self.changes.0.lock());
        for run in changes.chunk_by_mut(|a, b| a.starts_with('-') && b.starts_with('-')) {
            run.sort_unstable();
        }
        changes
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.running.abort();
        if !std::thread::panicking() {
            self.script.check();
        }
    }
}

#[derive(Default)]
struct Changes(Mutex<Vec<String>>);

impl Handler for Changes {
    fn pod(&self, change: &Change<Pod>, state: &State, is_initial_list: bool) {
        let line = match change {
            Change::Added(pod) => format!("+{}", show(pod)),
            Change::Updated { old, new } => format!("~{} was {}", show(new), show(old)),
            Change::Deleted { last: pod, .. } => format!("-{}", show(pod)),
        };
        let shown = |pod: &Arc<Pod>| state.pods.get(&pod.namespace, &pod.name).cloned();
        match change {
            // Changes that arrive together are applied together, so the cache may already show a later one.
            Change::Added(new) | Change::Updated { new, .. } => {
                assert!(
                    shown(new).is_none_or(|p| Arc::ptr_eq(&p, new) || p.version != new.version),
                    "{line}"
                );
            }
            Change::Deleted { last: old, .. } => {
                assert!(shown(old).is_none_or(|p| !Arc::ptr_eq(&p, old)), "{line}")
            }
        }
        let list = if is_initial_list { " (list)" } else { "" };
        self.0.lock().push(line + list);
    }
}

fn show(pod: &Pod) -> String {
    let addresses: Vec<String> = pod.addresses.iter().map(ToString::to_string).collect();
    format!("{} {}", pod.name, addresses.join(","))
}
