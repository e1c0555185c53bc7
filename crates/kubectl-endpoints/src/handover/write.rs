//! The requests of a migration.

use endpoint_controller_manager::leader_election::HOLD;
use endpoint_controller_manager::version;
use http::{Method, Request, header};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::error_chain;
use serde_json::json;

use super::command::Migration;
use super::facts::{Facts, Goal, Record};
use super::observe::{ANNOTATION, State};
use super::steps::Write;
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::lease;

/// The reason of a hold, which the manifests of deploy/ give as well: server-side apply refuses a field that others have
/// with another value.
const REASON: &str = "migration-from-built-in-controllers";

/// A line that says what a request does.
pub(super) fn describe(write: Write, migration: &Migration) -> String {
    let (lease, deployment) = (&migration.settings.lease, &migration.settings.deployment);
    match write {
        Write::Hold => format!("hold the Lease {lease}"),
        Write::Release => format!("release the Lease {lease}"),
        Write::Scale(replicas) => format!("scale the Deployment {deployment} to {replicas}"),
        Write::Record => format!("annotate the Lease {lease}"),
    }
}

/// Sends a request. Returns false if the Lease has changed since the state was read, or there was no response: the next
/// observation decides anew.
///
/// # Errors
/// A line about what the API server refused.
pub(super) async fn send(
    cluster: &Cluster,
    migration: &Migration,
    state: &State,
    write: Write,
) -> Result<bool, Failure> {
    let facts = &state.facts;
    match write {
        Write::Hold => put(cluster, migration, state, Some(true), &when_held(migration.goal, facts)).await,
        Write::Release => put(cluster, migration, state, Some(false), &when_released(facts)).await,
        Write::Record => note(cluster, migration, state, &begun(migration.goal, facts)).await,
        Write::Scale(replicas) => scale(cluster, migration, replicas).await,
    }
}

/// Writes the record, and nothing else of the Lease. Returns as [`send`] does.
///
/// # Errors
/// A line about what the API server refused.
pub(super) async fn note(
    cluster: &Cluster,
    migration: &Migration,
    state: &State,
    record: &Record,
) -> Result<bool, Failure> {
    put(cluster, migration, state, None, record).await
}

/// The record at the beginning of a migration in this direction, or of its continuation.
pub(super) fn begun(goal: Goal, facts: &Facts) -> Record {
    let known = &facts.record;
    let same = if facts.is_begun(goal) && !known.released { known.clone() } else { Record::default() };
    let is_behind_gate = facts.gate.as_ref().is_some_and(|gate| gate.held.is_some());
    let last_renewal = match goal {
        Goal::Handover => facts.built_in_renewal().or(same.last_renewal),
        // One behind its takeover gate has not written; of any other, the Lease shows the last renewal.
        Goal::Rollback => known.last_renewal.filter(|_| is_behind_gate),
    };
    let running = facts.ours.deployment.map(|it| it.replicas).filter(|replicas| *replicas > 0);
    Record {
        goal: Some(goal),
        nodes: nodes(facts),
        leader: same.leader.or_else(|| Some(built_in_holder(facts))),
        last_renewal,
        replicas: running.or(known.replicas),
        released: false,
        ..same
    }
}

/// The record with which the Lease is held. Once a rollback holds it, no other replica of ours acquires it.
pub(super) fn when_held(goal: Goal, facts: &Facts) -> Record {
    let last = (goal == Goal::Rollback).then(|| transitions(facts));
    Record { transitions: last, ..begun(goal, facts) }
}

/// The record with which a handover releases the Lease.
pub(super) fn when_released(facts: &Facts) -> Record {
    Record { released: true, transitions: Some(transitions(facts)), ..facts.record.clone() }
}

fn transitions(facts: &Facts) -> i32 {
    facts.lease.as_ref().map(|lease| lease.transitions).unwrap_or_default()
}

/// The holder of kube-controller-manager's Lease; empty if there is none.
pub(super) fn built_in_holder(facts: &Facts) -> String {
    facts.built_in.as_ref().map(|lease| lease.holder.clone()).unwrap_or_default()
}

/// All nodes whose kube-controller-manager is known.
pub(super) fn nodes(facts: &Facts) -> Vec<String> {
    let mut nodes: Vec<String> = facts.replicas.iter().map(|replica| replica.node.clone()).collect();
    nodes.extend(facts.absent.iter().cloned());
    nodes.sort();
    nodes.dedup();
    nodes
}

/// Writes annotations of the Lease: the record, and a hold or its release. Who holds or held the Lease stays as it is.
async fn put(
    cluster: &Cluster,
    migration: &Migration,
    state: &State,
    hold: Option<bool>,
    record: &Record,
) -> Result<bool, Failure> {
    let [namespace, name] = &migration.flags.lease.0;
    let path = lease::path(&migration.flags.lease.0);
    let mut metadata = state.lease.as_ref().map_or_else(
        || ObjectMeta {
            namespace: Some(namespace.clone()),
            name: Some(name.clone()),
            ..ObjectMeta::default()
        },
        |lease| lease.metadata.clone(),
    );
    // A record is a tree of strings and numbers, which always has a JSON form.
    let text = serde_json::to_string(record).unwrap_or_default();
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.insert(ANNOTATION.to_owned(), text);
    match hold {
        Some(true) => {
            annotations.entry(HOLD.annotation.to_owned()).or_insert_with(|| REASON.to_owned());
            annotations.remove(HOLD.released);
        }
        Some(false) => {
            let release = format!("{} at {}", migration.goal.name(), Timestamp::now());
            annotations.insert(HOLD.released.to_owned(), release);
        }
        None => {}
    }
    let lease = Lease { metadata, spec: state.lease.as_ref().and_then(|lease| lease.spec.clone()) };
    let written = if state.lease.is_some() {
        cluster.client.update(&path, &lease).await
    } else {
        let collection = path.strip_suffix(&format!("/{name}")).unwrap_or(&path);
        cluster.client.create(collection, &lease).await
    };
    match written {
        Ok(_) => Ok(true),
        Err(error) if error.is_conflict() || error.is_already_exists() || error.is_unavailable() => Ok(false),
        Err(error) => {
            let (lease, reason) = (&migration.settings.lease, error_chain(&error));
            Err(Failure::Access(format!("cannot write the Lease {lease}: {reason}")))
        }
    }
}

/// Scales the Deployment of ours. Returns as [`send`] does.
async fn scale(cluster: &Cluster, migration: &Migration, replicas: i32) -> Result<bool, Failure> {
    let [namespace, name] = &migration.flags.deployment.0;
    let failed = |reason: String| {
        Failure::Access(format!("cannot scale the Deployment {}: {reason}", migration.settings.deployment))
    };
    let request = Request::builder()
        .method(Method::PATCH)
        .uri(format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"))
        .header(header::CONTENT_TYPE, "application/merge-patch+json")
        .header(header::ACCEPT, "application/json")
        .header(header::USER_AGENT, version::user_agent(crate::name::NAME, migration.goal.name()))
        .body(json!({"spec": {"replicas": replicas}}).to_string().into_bytes())
        .map_err(|error| failed(error.to_string()))?;
    is_written(cluster.http().request_text(request).await).map_err(failed)
}

/// True if a write succeeded; false if another attempt may: the next observation tells whether there is an API server.
///
/// # Errors
/// The reason of a refusal.
fn is_written(response: Result<String, kube::Error>) -> Result<bool, String> {
    match response {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if ![409, 429].contains(&status.code) && status.code < 500 => {
            Err(status.message)
        }
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn a_scale_is_tried_again_unless_it_is_refused_for_good() {
        let refused =
            |code| is_written(Err(kube::Error::Api(Status::failure("no", "").with_code(code).boxed())));
        assert_eq!(is_written(Ok(String::new())), Ok(true));
        for code in [409, 429, 500, 503] {
            assert_eq!(refused(code), Ok(false), "{code}");
        }
        for code in [400, 403, 404, 422] {
            assert_eq!(refused(code), Err("no".to_owned()), "{code}");
        }
    }
}
