//! The facts of a cluster, read from its API server.

use std::collections::HashMap;
use std::time::Duration;

use endpoint_controller_manager::leader_election::HOLD;
use endpoint_controller_manager::version::NAME;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec};
use kube_api::ApiError;
use kube_api::time::Instant;

use super::command::{self, Migration};
use super::distribution::Distribution;
use super::facts::{Deployed, Facts, Form, LeaseFacts, Ours, Record, Replica};
use super::own_flags;
use crate::cluster::Cluster;
use crate::gate::Gate;
use crate::lease;
use crate::objects::{find, list};
use crate::preflight::Entries;

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
    migration: &'a Migration,
    leases: Leases,
}

/// Leases, by our clock.
#[derive(Default)]
pub(super) struct Leases(HashMap<String, Seen>);

/// A Lease as first seen.
struct Seen {
    spec: LeaseSpec,
    since: Instant,
    /// True if it was another before.
    is_renewed: bool,
}

/// A state of the cluster.
pub(super) struct State {
    pub(super) facts: Facts,
    /// Our Lease, for updates that fail if it has changed.
    pub(super) lease: Option<Lease>,
    /// The specification of ours, if its Deployment is there.
    pub(super) template: Option<Box<PodSpec>>,
}

impl<'a> Observer<'a> {
    pub(super) fn new(cluster: &'a Cluster, migration: &'a Migration) -> Self {
        Self { cluster, migration, leases: Leases::default() }
    }

    /// Reads everything.
    pub(super) async fn read(&mut self) -> Result<State, ApiError> {
        let (migration, client) = (self.migration, &self.cluster.client);
        let lease: Option<Lease> = find(client, &lease::path(&migration.flags.lease.0)).await?;
        let record = lease.as_ref().map(record).unwrap_or_default();
        // The pods before the Lease that their processes hold: a process that a pod shows is not older than its Lease.
        let path = format!("/api/v1/namespaces/kube-system/pods?labelSelector={BUILT_IN_PODS}");
        let pods: Vec<Pod> = list(client, &path).await?;
        let replicas: Vec<Replica> = pods.iter().filter_map(replica).collect();
        let built_in: Option<Lease> = find(client, &lease::path(&BUILT_IN_LEASE)).await?;
        let mut absent = Vec::new();
        for node in record.nodes.iter().filter(|node| replicas.iter().all(|replica| replica.node != **node)) {
            if find::<Node>(client, &format!("/api/v1/nodes/{node}")).await?.is_some() {
                absent.push(node.clone());
            }
        }
        let distribution = match pods.first() {
            Some(pod) => Some(Distribution::of_pod(pod)),
            None => self.node_of(built_in.as_ref()).await?.as_ref().map(Distribution::of_node),
        };
        let (ours, template) = self.ours().await?;
        let own_lease = self.leases.facts("ours", lease.as_ref());
        let gate = match own_lease.as_ref().and_then(|lease| lease.acquired.filter(|_| lease.live)) {
            Some(acquired) => self.gate(acquired).await?,
            None => Some(Gate::default()),
        };
        let mut facts = Facts {
            controllers: migration.controllers.clone(),
            wants_canary: migration.flags.canary_namespace.is_some(),
            distribution,
            built_in: self.leases.facts("built-in", built_in.as_ref()),
            lease: own_lease,
            replicas,
            absent,
            ours,
            gate,
            record,
            has_led: false,
        };
        facts.wants_canary |= facts.is_written_unseen();
        Ok(State { facts, lease, template })
    }

    /// The gate of the leader that acquired our Lease then; none if events may not be read.
    async fn gate(&self, acquired: Timestamp) -> Result<Option<Gate>, ApiError> {
        let [namespace, name] = &self.migration.flags.lease.0;
        match Gate::read(&self.cluster.client, namespace, name, acquired).await {
            Ok(gate) => Ok(Some(gate)),
            Err(error) if error.is_forbidden() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The node on which the holder of a Lease runs.
    async fn node_of(&self, lease: Option<&Lease>) -> Result<Option<Node>, ApiError> {
        let holder = lease.and_then(|lease| lease.spec.as_ref()?.holder_identity.as_deref());
        let host = holder.and_then(|holder| holder.split('_').next()).unwrap_or_default().to_lowercase();
        match command::name(&host) {
            Ok(name) => find(&self.cluster.client, &format!("/api/v1/nodes/{name}")).await,
            Err(_) => Ok(None),
        }
    }

    /// The replicas of ours, and the template of its Deployment.
    async fn ours(&self) -> Result<(Ours, Option<Box<PodSpec>>), ApiError> {
        let [namespace, name] = &self.migration.flags.deployment.0;
        let (form, client) = (self.migration.flags.ours, &self.cluster.client);
        let deployment: Option<Deployment> = match form {
            Form::Deployment => {
                find(client, &format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}")).await?
            }
            Form::StaticPods | Form::Processes => None,
        };
        let mut pods: Vec<Pod> = match form {
            Form::Processes => Vec::new(),
            Form::Deployment | Form::StaticPods => {
                let path = format!("/api/v1/namespaces/{namespace}/pods?labelSelector={OUR_PODS}");
                list(client, &path).await?
            }
        };
        pods.retain(|pod| !has_ended(pod));
        let template = deployment.as_ref().and_then(|it| it.spec.template.spec.as_ref());
        let specs: Vec<&PodSpec> = match form {
            Form::StaticPods => pods.iter().filter_map(|pod| pod.spec.as_ref()).collect(),
            Form::Deployment | Form::Processes => template.into_iter().collect(),
        };
        let migration = self.migration;
        let flags = |spec| own_flags::of(spec, &migration.controllers, &migration.settings.lease);
        let ours = Ours {
            form,
            deployment: deployment.as_ref().map(deployed),
            ready: pods.iter().filter(|pod| is_ready(pod)).count(),
            pods: pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect(),
            first_look: match form {
                Form::Processes => Some(own_flags::FIRST_LOOK_IF_ANY),
                Form::Deployment | Form::StaticPods => {
                    specs.iter().filter_map(|spec| own_flags::first_look(spec)).max()
                }
            },
            are_static: pods.iter().any(is_mirror),
            writer: specs.first().and_then(|spec| own_flags::writer(spec)).unwrap_or_else(|| NAME.to_owned()),
            flags: specs.into_iter().map(flags).collect(),
        };
        Ok((ours, template.cloned().map(Box::new)))
    }
}

impl Leases {
    /// A Lease, with its age by our clock.
    pub(super) fn facts(&mut self, key: &str, lease: Option<&Lease>) -> Option<LeaseFacts> {
        let lease = lease?;
        let spec = lease.spec.clone().unwrap_or_default();
        let now = Instant::now();
        let new = || Seen { spec: spec.clone(), since: now, is_renewed: false };
        let seen = self.0.entry(key.to_owned()).or_insert_with(new);
        if seen.spec != spec {
            *seen = Seen { is_renewed: true, ..new() };
        }
        let (since, is_renewed) = (seen.since, seen.is_renewed);
        let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or(1).max(1)).unwrap_or(1);
        let holder = spec.holder_identity.unwrap_or_default();
        let is_fresh = now.saturating_duration_since(since) < Duration::from_secs(seconds);
        let time =
            |time: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime>| time.map(|it| it.0);
        Some(LeaseFacts {
            live: !holder.is_empty() && is_fresh,
            is_watched: is_renewed || holder.is_empty() || !is_fresh,
            holder,
            acquired: time(spec.acquire_time),
            renewed: time(spec.renew_time),
            transitions: spec.lease_transitions.unwrap_or_default(),
            is_on_hold: HOLD.in_force(&lease.metadata).is_some(),
        })
    }
}

/// The record on a Lease; an empty one if it cannot be read, which repeats steps.
fn record(lease: &Lease) -> Record {
    let annotations = lease.metadata.annotations.as_ref();
    let text = annotations.and_then(|annotations| annotations.get(ANNOTATION));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn replica(pod: &Pod) -> Option<Replica> {
    let spec = pod.spec.as_ref()?;
    let is_going = pod.metadata.deletion_timestamp.is_some();
    let lists = spec.containers.iter().flat_map(|container| [&container.command, &container.args]);
    let words: Vec<String> = lists.flatten().flatten().cloned().collect();
    Some(Replica {
        node: spec.node_name.clone()?,
        entries: Entries::of_words(&words),
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

/// True for the pod by which a kubelet shows a static pod.
fn is_mirror(pod: &Pod) -> bool {
    let annotations = pod.metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key("kubernetes.io/config.mirror"))
}

/// True for a pod whose processes have ended for good, as after its eviction or a shutdown of its node.
fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let is_true = |conditions: &Vec<k8s_openapi::api::core::v1::PodCondition>| {
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    pod.metadata.deletion_timestamp.is_none() && conditions.is_some_and(is_true)
}

fn deployed(deployment: &Deployment) -> Deployed {
    let replicas = deployment.spec.replicas.unwrap_or(1);
    let is_ready = deployment.status.as_ref().is_some_and(|status| {
        let has = |count: Option<i32>| count.unwrap_or_default() == replicas;
        status.observed_generation >= deployment.metadata.generation
            && has(status.replicas)
            && has(status.updated_replicas)
            && has(status.ready_replicas)
    });
    Deployed { replicas, is_ready }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_that_has_failed_does_not_run() {
        let has_ended = |status: serde_json::Value| {
            has_ended(&serde_json::from_value(json!({"metadata": {}, "status": status})).unwrap())
        };
        assert!(has_ended(json!({"phase": "Failed"})) && has_ended(json!({"phase": "Succeeded"})));
        assert!(!has_ended(json!({"phase": "Running"})) && !has_ended(json!({})));
    }

    #[tokio::test(start_paused = true)]
    async fn whether_a_holder_lives_is_known_once_it_renews_or_does_not() {
        let lease = |renewed: &str| -> Lease {
            let spec =
                json!({"holderIdentity": "killed_1", "leaseDurationSeconds": 15, "renewTime": renewed});
            serde_json::from_value(json!({"metadata": {"name": "ours"}, "spec": spec})).unwrap()
        };
        let (old, newer) = (lease("2026-01-01T00:00:00.000000Z"), lease("2026-01-01T00:00:02.000000Z"));
        let mut leases = Leases::default();
        let mut known = |lease: &Lease| leases.facts("ours", Some(lease)).map(|it| (it.live, it.is_watched));
        assert_eq!(known(&old), Some((true, false)), "it may have been written just now");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(known(&newer), Some((true, true)));
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(known(&newer), Some((false, true)));
        let mut leases = Leases::default();
        assert_eq!(leases.facts("ours", Some(&old)).map(|it| it.live), Some(true));
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(leases.facts("ours", Some(&old)).map(|it| (it.live, it.is_watched)), Some((false, true)));
    }
}
