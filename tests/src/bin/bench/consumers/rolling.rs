//! A rolling update under a client that opens many connections: those that fail, because they reach a pod that has ended.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client};
use serde::Serialize;
use tests::wait::{self, LIMIT};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{interval, sleep};

use super::judges::{Judges, connect};
use super::{NAMESPACE, create_pod, create_service, run_pod};

const SERVICE: &str = "rolled";
/// The port of these pods: each has a listener of its own.
const PORT: u16 = 8081;
const PODS: u8 = 100;
/// The time between two replacements.
const PACE: Duration = Duration::from_millis(500);
/// 500 connections a second.
const CONNECTION: Duration = Duration::from_millis(2);
/// The kubelet removes a pod that has ended.
const REMOVAL: Duration = Duration::from_secs(1);
/// The time in which kube-proxy programs what slices have.
pub(super) const QUIET: Duration = Duration::from_secs(5);

/// Numbers of connections by their end.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Connections {
    pub(super) all: usize,
    /// By a pod that has ended.
    pub(super) refused: usize,
    /// Neither accepted nor refused within a second.
    pub(super) lost: usize,
}

impl Connections {
    fn count(&mut self, connected: Option<bool>) {
        self.all += 1;
        match connected {
            Some(true) => {}
            Some(false) => self.refused += 1,
            None => self.lost += 1,
        }
    }
}

/// A Service whose pods are replaced.
pub(super) struct Rolled {
    pods: Api<Pod>,
    slices: Api<EndpointSlice>,
    /// The tasks that accept connections, by pod.
    listeners: HashMap<String, JoinHandle<()>>,
    generation: u8,
    address: SocketAddr,
}

impl Rolled {
    /// Creates it with its pods, and waits until kube-proxy has them.
    pub(super) async fn create(client: &Client, judges: &Judges) -> Self {
        let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
        let address = create_service(&services, SERVICE, PORT).await;
        let mut rolled = Self {
            pods: Api::namespaced(client.clone(), NAMESPACE),
            slices: Api::namespaced(client.clone(), NAMESPACE),
            listeners: HashMap::new(),
            generation: 0,
            address,
        };
        for number in 0..PODS {
            rolled.start(number).await;
        }
        judges.connects(rolled.address, true, CONNECTION).await;
        sleep(QUIET).await;
        rolled
    }

    /// Replaces all pods one after the other. An old pod closes its port at its deletion, without the pause of a preStop hook, so
    /// that only the speed of the endpoints matters.
    pub(super) async fn update(&mut self) -> Connections {
        let address = self.address;
        self.generation += 1;
        let replacements = async {
            let mut pace = interval(PACE);
            for number in 0..PODS {
                pace.tick().await;
                self.start(number).await;
                self.end(number).await;
            }
            self.published().await;
            sleep(QUIET).await;
        };
        open(&[address], replacements).await
    }

    /// Waits until the slices have the pods of this generation alone.
    async fn published(&self) {
        let query = ListParams::default().labels(&format!("kubernetes.io/service-name={SERVICE}"));
        let prefix = name_prefix(self.generation);
        wait::until("the slices after a rolling update", LIMIT, || async {
            let slices = self.slices.list(&query).await.map_err(|error| error.to_string())?.items;
            let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
            let names = endpoints.filter_map(|it| it.target_ref.as_ref()?.name.as_deref());
            let (new, old): (Vec<_>, Vec<_>) = names.partition(|name| name.starts_with(&prefix));
            if new.len() == usize::from(PODS) && old.is_empty() {
                return Ok(());
            }
            Err(format!("{} new pods and {} old ones", new.len(), old.len()))
        })
        .await;
    }

    /// Starts a pod, which is ready when it accepts connections.
    async fn start(&mut self, number: u8) {
        let name = name(self.generation, number);
        let ip = Ipv4Addr::new(10, 251, self.generation, number + 1);
        create_pod(&self.pods, &name, SERVICE).await;
        let listener = TcpListener::bind((ip, PORT)).await.expect("the port of a pod");
        let accepts = async move { while listener.accept().await.is_ok() {} };
        self.listeners.insert(name.clone(), tokio::spawn(accepts));
        run_pod(&self.pods, &name, ip, "True").await;
    }

    /// Deletes the pod of the generation before, whose port closes at once and which is gone soon after.
    async fn end(&mut self, number: u8) {
        let name = name(self.generation - 1, number);
        self.pods.delete(&name, &DeleteParams::default().grace_period(30)).await.expect("deleting a pod");
        if let Some(listener) = self.listeners.remove(&name) {
            listener.abort();
        }
        let pods = self.pods.clone();
        tokio::spawn(async move {
            sleep(REMOVAL).await;
            pods.delete(&name, &DeleteParams::default().grace_period(0)).await.expect("removing a pod");
        });
    }
}

impl Drop for Rolled {
    fn drop(&mut self) {
        self.listeners.values().for_each(JoinHandle::abort);
    }
}

fn name(generation: u8, number: u8) -> String {
    format!("{}{number}", name_prefix(generation))
}

fn name_prefix(generation: u8) -> String {
    format!("{SERVICE}-{generation}-")
}

/// Opens connections at a steady rate until the end, to one address after the other.
pub(super) async fn open(addresses: &[SocketAddr], end: impl Future<Output = ()>) -> Connections {
    let (mut end, mut pace, mut addresses) = (pin!(end), interval(CONNECTION), addresses.iter().cycle());
    let (mut opening, mut result) = (FuturesUnordered::new(), Connections::default());
    loop {
        tokio::select! {
            () = &mut end => break,
            _ = pace.tick() => opening.extend(addresses.next().map(|address| connect(*address))),
            Some(connected) = opening.next() => result.count(connected),
        }
    }
    while let Some(connected) = opening.next().await {
        result.count(connected);
    }
    result
}
