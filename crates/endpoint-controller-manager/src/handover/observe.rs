//! The facts of a cluster, read from its API server.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Container, Node, Pod, PodSpec};
use kube_api::ApiError;
use kube_api::time::Instant;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::command::Swap;
use super::facts::{Deployed, Facts, Form, LeaseFacts, Ours, Record, Replica};
use super::flag_value::FlagValue;
use crate::controllers;
use crate::diagnostics::cluster::Cluster;

/// The annotation of our Lease with the record.
pub(super) const ANNOTATION: &str = "endpoint-controller-manager/handover";
/// The namespace and name of kube-controller-manager's Lease.
const BUILT_IN_LEASE: [&str; 2] = ["kube-system", "kube-controller-manager"];
/// The label that kubeadm, RKE2 and others give to the static pods of kube-controller-manager.
const BUILT_IN_PODS: &str = "component%3Dkube-controller-manager";
/// The label of our manifests.
const OUR_PODS: &str = "app.kubernetes.io%2Fname%3Dendpoint-controller-manager";

/// Reads a cluster again and again.
pub(super) struct Observer<'a> {
    cluster: &'a Cluster,
    swap: &'a Swap,
    /// The records of Leases with the times at which they were first seen, by our clock.
    seen: HashMap<String, (LeaseSpec, Instant)>,
}

/// A state of the cluster.
pub(super) struct State {
    pub(super) facts: Facts,
    /// Our Lease, for updates that fail if it has changed.
    pub(super) lease: Option<Lease>,
    /// The arguments of ours, and the name of its service account, if its Deployment is there.
    pub(super) words: Vec<String>,
    pub(super) account: Option<String>,
}

/// Objects in one answer.
#[derive(Deserialize)]
pub(super) struct List<T> {
    #[serde(default = "Vec::new")]
    pub(super) items: Vec<T>,
}

impl<'a> Observer<'a> {
    pub(super) fn new(cluster: &'a Cluster, swap: &'a Swap) -> Self {
        Self { cluster, swap, seen: HashMap::new() }
    }

    /// Reads everything.
    pub(super) async fn read(&mut self) -> Result<State, ApiError> {
        let swap = self.swap;
        let lease: Option<Lease> = self.get(&lease_path(&swap.lease)).await?;
        let record = lease.as_ref().map(record).unwrap_or_default();
        // The pods before the Lease that their processes hold: a process that a pod shows is not older than its Lease.
        let pods: List<Pod> = self
            .cluster
            .client
            .get_json(&format!("/api/v1/namespaces/kube-system/pods?labelSelector={BUILT_IN_PODS}"))
            .await?;
        let replicas: Vec<Replica> = pods.items.iter().filter_map(replica).collect();
        let built_in: Option<Lease> = self.get(&lease_path(&BUILT_IN_LEASE.map(str::to_owned))).await?;
        let mut absent = Vec::new();
        for node in record.nodes.iter().filter(|node| replicas.iter().all(|replica| replica.node != **node)) {
            if self.get::<Node>(&format!("/api/v1/nodes/{node}")).await?.is_some() {
                absent.push(node.clone());
            }
        }
        let (ours, template) = self.ours().await?;
        let facts = Facts {
            controllers: swap.controllers.clone(),
            wants_canary: swap.canary.is_some(),
            built_in: self.lease_facts("built-in", built_in.as_ref()),
            lease: self.lease_facts("ours", lease.as_ref()),
            replicas,
            absent,
            ours,
            record,
        };
        let args =
            |spec: &PodSpec| spec.containers.first().and_then(|it| it.args.clone()).unwrap_or_default();
        let words = template.as_ref().map(args).unwrap_or_default();
        let account = template.and_then(|spec| spec.service_account_name);
        Ok(State { facts, lease, words, account })
    }

    /// The replicas of ours, and the template of its Deployment.
    async fn ours(&self) -> Result<(Ours, Option<PodSpec>), ApiError> {
        let [namespace, name] = &self.swap.deployment;
        let form = self.swap.form;
        let deployment: Option<Deployment> = match form {
            Form::Deployment => {
                self.get(&format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}")).await?
            }
            Form::StaticPods | Form::Processes => None,
        };
        let pods: List<Pod> = match form {
            Form::Processes => List { items: Vec::new() },
            Form::Deployment | Form::StaticPods => {
                let path = format!("/api/v1/namespaces/{namespace}/pods?labelSelector={OUR_PODS}");
                self.cluster.client.get_json(&path).await?
            }
        };
        let template =
            deployment.as_ref().and_then(|deployment| deployment.spec.as_ref()?.template.spec.as_ref());
        let spec = template.or_else(|| pods.items.first().and_then(|pod| pod.spec.as_ref()));
        let words: Vec<&str> = spec.map(|spec| words(&spec.containers)).unwrap_or_default();
        let is_known = spec.is_some() && !words.iter().any(|word| word.starts_with("--config"));
        let ours = Ours {
            form,
            deployment: deployment.as_ref().map(deployed),
            ready: pods.items.iter().filter(|pod| is_ready(pod)).count(),
            pods: pods.items.iter().filter_map(|pod| pod.metadata.name.clone()).collect(),
            selected: is_known.then(|| controllers::enabled(&FlagValue::of(words.iter().copied()).entries)),
            is_unelected: words.contains(&"--leader-elect=false"),
        };
        Ok((ours, template.cloned()))
    }

    /// A Lease, with its age by our clock.
    fn lease_facts(&mut self, key: &str, lease: Option<&Lease>) -> Option<LeaseFacts> {
        let spec = lease?.spec.clone().unwrap_or_default();
        let now = Instant::now();
        let since = match self.seen.get(key) {
            Some((known, since)) if *known == spec => *since,
            _ => {
                self.seen.insert(key.to_owned(), (spec.clone(), now));
                now
            }
        };
        let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or(1).max(1)).unwrap_or(1);
        let holder = spec.holder_identity.unwrap_or_default();
        let is_fresh = now.saturating_duration_since(since) < Duration::from_secs(seconds);
        let time =
            |time: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime>| time.map(|it| it.0);
        Some(LeaseFacts {
            live: !holder.is_empty() && is_fresh,
            holder,
            acquired: time(spec.acquire_time),
            renewed: time(spec.renew_time),
            transitions: spec.lease_transitions.unwrap_or_default(),
        })
    }

    /// An object; none if it does not exist.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, ApiError> {
        match self.cluster.client.get_json(path).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The path of a Lease.
pub(super) fn lease_path([namespace, name]: &[String; 2]) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
}

/// The record on a Lease; an empty one if it cannot be read, which repeats steps.
fn record(lease: &Lease) -> Record {
    let annotations = lease.metadata.annotations.as_ref();
    let text = annotations.and_then(|annotations| annotations.get(ANNOTATION));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn words(containers: &[Container]) -> Vec<&str> {
    let lists = containers.iter().flat_map(|container| [&container.command, &container.args]);
    lists.flatten().flatten().map(String::as_str).collect()
}

fn replica(pod: &Pod) -> Option<Replica> {
    let spec = pod.spec.as_ref()?;
    let is_going = pod.metadata.deletion_timestamp.is_some();
    Some(Replica {
        node: spec.node_name.clone()?,
        flag: FlagValue::of(words(&spec.containers)),
        started: started(pod).filter(|_| !is_going),
    })
}

/// The start of the container that started last, if all run.
fn started(pod: &Pod) -> Option<Timestamp> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    let start = |status: &k8s_openapi::api::core::v1::ContainerStatus| {
        Some(status.state.as_ref()?.running.as_ref()?.started_at.as_ref()?.0)
    };
    statuses.iter().map(start).collect::<Option<Vec<_>>>()?.into_iter().max()
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let is_true = |conditions: &Vec<k8s_openapi::api::core::v1::PodCondition>| {
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    pod.metadata.deletion_timestamp.is_none() && conditions.is_some_and(is_true)
}

fn deployed(deployment: &Deployment) -> Deployed {
    let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let is_ready = deployment.status.as_ref().is_some_and(|status| {
        let has = |count: Option<i32>| count.unwrap_or_default() == replicas;
        status.observed_generation >= deployment.metadata.generation
            && has(status.replicas)
            && has(status.updated_replicas)
            && has(status.ready_replicas)
    });
    Deployed { replicas, is_ready }
}
