//! The loop on an API server in memory.

use std::ffi::OsString;

use embedded_apiserver::ApiServer;
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::{Value, json};

use super::super::command;
use super::super::observe::ANNOTATION;
use super::*;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const OURS: &str = "endpoint-controller-manager";

fn migration(goal: Goal, words: &[&str]) -> Migration {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    command::parse(goal, &words).unwrap_or_else(|_| panic!("{words:?}"))
}

async fn create(cluster: &Cluster, name: &str, annotations: &Value, holder: &Value) {
    let lease = json!({"metadata": {"name": name, "annotations": annotations}, "spec": holder});
    let _: Value = cluster.client.create_json(LEASES, &lease).await.unwrap();
}

/// Begins a migration with this record, in which `a_1` leads kube-controller-manager.
async fn begin_with(cluster: &Cluster, record: &Value) {
    let held = json!({"endpoint-controller-manager/hold": "a test", ANNOTATION: record.to_string()});
    create(cluster, OURS, &held, &json!({})).await;
    let lives = json!({"holderIdentity": "a_1", "leaseDurationSeconds": 3_600});
    create(cluster, "kube-controller-manager", &json!({}), &lives).await;
}

/// It looks at first as if it had renewed the Lease just now.
#[tokio::test(start_paused = true)]
async fn a_leader_that_has_ended_without_a_release_does_not_count() {
    let (cluster, migration) = (Cluster::in_memory(&ApiServer::new()), migration(Goal::Handover, &[]));
    let ended = json!({"holderIdentity": "killed_1", "leaseDurationSeconds": 15});
    create(&cluster, OURS, &json!({}), &ended).await;
    let mut observer = Observer::new(&cluster, &migration);
    let state = first_observation(&cluster, &migration, &mut observer).await.unwrap();
    assert!(!state.facts.leads());
}

/// One that waits for the leader of kube-controller-manager to end, here.
#[tokio::test(start_paused = true)]
async fn a_command_ends_once_another_begins_the_other_direction() {
    let (cluster, migration) =
        (Cluster::in_memory(&ApiServer::new()), migration(Goal::Handover, &["--ours=processes", "--yes"]));
    let record = json!({"goal": "handover", "leader": "a_1", "confirmed": ["start", "standbys", "leader"]});
    begin_with(&cluster, &record).await;
    let other = async {
        sleep(Duration::from_secs(5)).await;
        let record = json!({"goal": "rollback"}).to_string();
        let change = json!({"metadata": {"annotations": {ANNOTATION: record}}});
        let _: Lease = cluster.client.patch(&format!("{LEASES}/{OURS}"), &change).await.unwrap();
    };
    let (ended, ()) = tokio::join!(Box::pin(drive_in(&cluster, &migration)), other);
    let Ok(Some(reason)) = ended else { panic!("it goes on") };
    assert!(reason.contains("a rollback was begun by another command"), "{reason}");
}

/// Here, the leader of kube-controller-manager does not end.
#[tokio::test(start_paused = true)]
async fn a_rollback_that_takes_too_long_names_the_other_direction() {
    let (cluster, migration) =
        (Cluster::in_memory(&ApiServer::new()), migration(Goal::Rollback, &["--ours=processes", "--yes"]));
    let record = json!({"goal": "rollback", "leader": "a_1", "confirmed": ["standbys", "stop", "leader"]});
    begin_with(&cluster, &record).await;
    let ended = Box::pin(drive_in(&cluster, &migration)).await;
    let Err(Failure::Timeout(line)) = ended else { panic!("no timeout") };
    assert!(line.ends_with("The same command continues; `handover` goes forward again"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn requests_are_sent_again_while_no_server_answers() {
    let mut sent = 0;
    let answer = patiently(PATIENCE, async || {
        sent += 1;
        if sent < 3 { Err(ApiError::Timeout(PERIOD)) } else { Ok(sent) }
    });
    assert_eq!(answer.await.ok(), Some(3));
    let start = Instant::now();
    let failed = patiently(PATIENCE, async || Err::<(), _>(ApiError::Timeout(PERIOD))).await;
    assert!(failed.is_err() && start.elapsed() >= PATIENCE, "{:?}", start.elapsed());
    let start = Instant::now();
    let refused = patiently(PATIENCE, async || Err::<(), _>(ApiError::ReadOnly)).await;
    assert!(refused.is_err() && start.elapsed() < PERIOD, "{:?}", start.elapsed());
}
