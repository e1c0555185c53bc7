//! Two replicas of ours: the leader exits or freezes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use tests::barrier::workers_rest;
use tests::manager::{Controller, LeaderElection, Manager};
use tests::wait::{self, LIMIT};

use super::fixture::Fixture;
use super::terms::Term;
use crate::deploy::PATIENT;

/// The resources in the controllers' cache.
const RESOURCES: [&str; 5] = ["services", "pods", "nodes", "endpoints", "endpointslices"];

fn programs(terms: &[Term]) -> Vec<&str> {
    terms.iter().map(|term| term.by.as_str()).collect()
}

/// Checks that the terms did not overlap, and that the controllers of both wrote.
fn assert_both_wrote(fixture: &Fixture) {
    let terms = fixture.terms();
    assert_eq!(programs(&terms), ["first", "second"]);
    assert!(terms.iter().all(|term| term.first_write.is_some()), "{terms:#?}");
}

/// Checks the parts of `/healthz` and `/metrics` that upstream has too, and readiness, which ours has on standby as
/// well.
async fn assert_shows(manager: &Manager, leads: bool) {
    let (status, text) = manager.get("/healthz?verbose").await;
    assert_eq!(status, 200, "{text}");
    let checks: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("[+]")?.strip_suffix(" ok")).collect();
    let controllers = Controller::ALL.iter().filter(|_| leads).map(|controller| controller.name());
    assert_eq!(checks, controllers.chain(["leaderElection"]).collect(), "{text}");

    let (status, text) = manager.get("/readyz?verbose").await;
    assert_eq!(status, 200, "{text}");
    for resource in RESOURCES {
        assert!(text.contains(&format!("[+]informer-sync/{resource} ok")), "{resource}: {text}");
    }
    let metric =
        format!("leader_election_master_status{{name=\"{}\"}} {}\n", LeaderElection::LEASE, u8::from(leads));
    let (_, text) = manager.get("/metrics").await;
    assert!(text.contains(&metric), "no {metric} in {text}");
}

/// The messages about the Lease, without the identities in them.
async fn events_about_the_lease(fixture: &Fixture, count: usize) -> Vec<(String, String)> {
    let events: Api<Event> = Api::namespaced(fixture.cluster.client(), "kube-system");
    let about = ListParams::default().fields("involvedObject.kind=Lease");
    wait::until("events about the Lease", LIMIT, async || {
        let mut list = events.list(&about).await.map_err(|error| error.to_string())?.items;
        list.sort_by_key(|event| (event.first_timestamp.clone(), event.metadata.creation_timestamp.clone()));
        let messages: Vec<_> = list
            .into_iter()
            .map(|event| {
                assert_eq!(event.reason.as_deref(), Some("LeaderElection"));
                assert_eq!(event.source.unwrap().component.as_deref(), Some("endpoint-controller-manager"));
                assert_eq!(event.involved_object.name.as_deref(), Some(LeaderElection::LEASE));
                let message = event.message.unwrap();
                let (identity, what) = message.split_once(' ').unwrap();
                (identity.to_owned(), what.to_owned())
            })
            .collect();
        if messages.len() == count { Ok(messages) } else { Err(format!("{messages:?}")) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_warm_standby_acquires_a_released_lease_at_once() {
    let mut fixture = Fixture::embedded().await;
    fixture.keep_changing_a_pod();
    let election = LeaderElection { retry_period: LeaderElection::DEFAULT.retry_period, ..PATIENT };
    let first = fixture.ours("first", election).await;
    let one = fixture.next_leader("").await;
    let second = fixture.ours("second", election).await;
    fixture.world.sync().await;
    assert_shows(&first, true).await;
    assert_shows(&second, false).await;

    let mark = fixture.cluster.audit().mark();
    let end = Timestamp::now();
    assert_eq!(first.stop().await.code(), Some(0));
    let two = fixture.next_leader(&one).await;
    assert_shows(&second, true).await;
    fixture.report("release", end);
    assert_both_wrote(&fixture);

    let [was, is] = &fixture.terms()[..] else { panic!("{:#?}", fixture.terms()) };
    let released = was.released.expect("by SIGTERM");
    let after: Vec<_> = fixture.cluster.audit().since(mark);
    let of_second = || after.iter().filter(|request| request.program() == "second");
    let all = fixture.requests();
    let early = all.iter().filter(|r| r.program() == "second" && r.is_write() && r.received < released);
    let early: Vec<_> = early.collect();
    assert_eq!(early.len(), 0, "a standby writes nothing, not even into the Lease: {early:?}");
    // Its cache is complete; it only makes sure that it includes the writes of the former leader.
    let lists = of_second().filter(|r| matches!(r.verb.as_str(), "list" | "watch") && !r.is_unserved());
    let mut lists: Vec<&str> = lists.map(|request| request.resource.as_str()).collect();
    lists.sort_unstable();
    assert_eq!(lists, ["endpoints", "endpointslices"], "one list-watch of each kind that is written begins");
    let by_first = all.iter().filter(|r| r.program() == "first" && r.is_write() && r.resource == "leases");
    let stored = by_first.map(|r| r.answered).max().expect("the release");
    let looks = of_second()
        .filter(|r| r.verb == "get" && !r.is_unserved() && stored < r.received && r.received < is.from)
        .count();
    assert!(looks <= 1, "the first look that can see the release leads to the Lease");

    let expected = [(&one, "became leader"), (&one, "stopped leading"), (&two, "became leader")];
    let mut expected: Vec<_> = expected.map(|(who, what)| (who.clone(), what.to_owned())).into();
    let mut events = events_about_the_lease(&fixture, 3).await;
    expected.sort();
    events.sort();
    assert_eq!(events, expected);
}

/// When the process continues it has missed many changes, and another replica leads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_was_frozen_writes_nothing_any_more() {
    let mut fixture = Fixture::embedded().await;
    let election = fixture.short();
    let mut first = fixture.ours("first", election).await;
    let one = fixture.next_leader("").await;
    let _second = fixture.ours("second", election).await;
    // A write that is about to be sent would be sent as soon as the process continues: reading a clock and sending are
    // not atomic.
    fixture.world.settle().await;
    workers_rest(Controller::ALL, first.pages()).await;
    let end = Timestamp::now();
    first.process().freeze().await;
    fixture.keep_changing_a_pod();
    fixture.next_leader(&one).await;
    fixture.report(&format!("SIGSTOP, lease of {:?}", election.lease_duration), end);
    first.process().signal("CONT");
    let deadline = election.renew_deadline;
    let why = format!("lease kube-system/endpoint-controller-manager was not renewed within {deadline:?}");
    assert_lost(&mut first, &why).await;
    fixture.world.sync().await;
    assert_both_wrote(&fixture);
}

/// Checks that it exits with code 1 and gives the reason.
pub(crate) async fn assert_lost(manager: &mut Manager, why: &str) {
    let status = manager.process().ended(LIMIT).await;
    assert_eq!(status.code(), Some(1));
    let line = format!("Error: leader election lost: {why}");
    assert_eq!(manager.process().says(&line).await, line);
}
