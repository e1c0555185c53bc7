//! A watcher outside the program: the time at which it sees a change, and that at which it sees its effect.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{Endpoints, Node, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tests::scenario::NAMESPACE;
use tokio::sync::Notify;

const ZONE: &str = "topology.kubernetes.io/zone";
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The kinds of objects in which a change has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    Slice,
    Endpoints,
}

/// A change that is awaited. The two watches are independent, so either event may come first.
#[derive(Debug, Default)]
struct Awaited {
    change: Option<Instant>,
    effect: Option<Instant>,
}

#[derive(Debug, Default)]
struct Board {
    awaited: HashMap<(Effect, String), Awaited>,
    /// Seconds.
    samples: HashMap<Effect, Vec<f64>>,
}

impl Board {
    fn record(&mut self, key: &(Effect, String), record: impl FnOnce(&mut Awaited)) {
        let Some(awaited) = self.awaited.get_mut(key) else { return };
        record(awaited);
        if let (Some(change), Some(effect)) = (awaited.change, awaited.effect) {
            let took = effect.saturating_duration_since(change).as_secs_f64();
            self.samples.entry(key.0).or_default().push(took);
            self.awaited.remove(key);
        }
    }
}

/// The watches. They end with the program.
#[derive(Clone, Default)]
pub(crate) struct Watcher {
    board: Arc<Mutex<Board>>,
    progress: Arc<Notify>,
}

impl Watcher {
    /// Starts the watches. A pod belongs to the Service of its name.
    pub(crate) fn start(client: &Client) -> Self {
        let watcher = Self::default();
        let namespaced = client.clone();
        let mut states = HashMap::new();
        watcher.follow(Api::<Pod>::namespaced(namespaced.clone(), NAMESPACE), move |watcher, pod, gone| {
            let state = endpoint(&pod).filter(|_| !gone);
            // Endpoints leave terminating pods out.
            let remaining = state.clone().filter(|state| !state.terminating);
            for (effect, state) in [(Effect::Slice, state), (Effect::Endpoints, remaining)] {
                if states.insert((effect, pod.name_any()), state.clone()).flatten() != state {
                    watcher.changed(&pod.name_any(), &[effect]);
                }
            }
        });
        let mut zones = HashMap::new();
        watcher.follow(Api::<Node>::all(client.clone()), move |watcher, node, _| {
            let zone = node.labels().get(ZONE).cloned();
            if zones.insert(node.name_any(), zone.clone()).is_some_and(|old| old != zone) {
                let services = watcher.services();
                for service in &services {
                    watcher.changed(service, &[Effect::Slice]);
                }
            }
        });
        watcher.follow(
            Api::<EndpointSlice>::namespaced(namespaced.clone(), NAMESPACE),
            |watcher, slice, _| {
                let service = slice.labels().get(SERVICE_NAME).cloned().unwrap_or_default();
                watcher.took_effect(service, Effect::Slice);
            },
        );
        watcher.follow(Api::<Endpoints>::namespaced(namespaced, NAMESPACE), |watcher, endpoints, _| {
            watcher.took_effect(endpoints.name_any(), Effect::Endpoints);
        });
        watcher
    }

    /// Awaits a change of these Services and its effects.
    pub(crate) fn expect(&self, services: &[String], effects: &[Effect]) {
        let mut board = self.board.lock();
        for service in services {
            for effect in effects {
                board.awaited.insert((*effect, service.clone()), Awaited::default());
            }
        }
    }

    /// Returns when all effects that are expected of these Services have been seen.
    pub(crate) async fn seen(&self, services: &[String]) {
        loop {
            let progress = self.progress.notified();
            if !self.board.lock().awaited.keys().any(|(_, service)| services.contains(service)) {
                return;
            }
            progress.await;
        }
    }

    /// The times between changes and effects so far, in seconds.
    pub(crate) fn samples(&self, effect: Effect) -> Vec<f64> {
        self.board.lock().samples.get(&effect).cloned().unwrap_or_default()
    }

    /// The Services whose change is awaited.
    fn services(&self) -> Vec<String> {
        self.board.lock().awaited.keys().map(|(_, service)| service.clone()).collect()
    }

    fn changed(&self, service: &str, effects: &[Effect]) {
        let now = Instant::now();
        for effect in effects {
            self.board.lock().record(&(*effect, service.to_owned()), |awaited| {
                awaited.change.get_or_insert(now);
            });
        }
        self.progress.notify_waiters();
    }

    fn took_effect(&self, service: String, effect: Effect) {
        let now = Instant::now();
        self.board.lock().record(&(effect, service), |awaited| {
            awaited.effect.get_or_insert(now);
        });
        self.progress.notify_waiters();
    }

    fn follow<K>(&self, objects: Api<K>, mut handle: impl FnMut(&Self, K, bool) + Send + 'static)
    where
        K: Clone + Debug + DeserializeOwned + kube::Resource + Send + 'static,
    {
        let watcher = self.clone();
        tokio::spawn(async move {
            let stream = objects.watch(&WatchParams::default(), "0").await.expect("a watch");
            let mut stream = std::pin::pin!(stream);
            while let Ok(Some(event)) = stream.try_next().await {
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        handle(&watcher, object, false);
                    }
                    WatchEvent::Deleted(object) => handle(&watcher, object, true),
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(status) => panic!("{status:?}"),
                }
            }
            // Also at the end, when the API server ends: nothing is awaited then.
            assert!(watcher.services().is_empty(), "a watch has ended: use fewer rounds");
        });
    }
}

/// A pod as an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Endpoint {
    address: String,
    ready: bool,
    terminating: bool,
}

/// A pod as an endpoint; none without an address.
fn endpoint(pod: &Pod) -> Option<Endpoint> {
    let status = pod.status.as_ref()?;
    let conditions = status.conditions.iter().flatten();
    let ready =
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let terminating = pod.metadata.deletion_timestamp.is_some();
    Some(Endpoint { address: status.pod_ip.clone()?, ready, terminating })
}
