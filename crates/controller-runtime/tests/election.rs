//! Electors against an API server that does what a test says, on a paused clock.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use controller_runtime::api::{ApiError, Encoding};
use controller_runtime::election::{Config, LeaseLost};
use http::Method;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use tokio::time::{Instant, sleep};

use support::leases::{Candidate, End, Fate, LEASES, LeaseServer, Sent, metrics};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// The methods of the requests about the Lease since the last call.
fn methods(server: &LeaseServer) -> String {
    let sent = server.take_sent();
    let methods: Vec<String> = sent.iter().filter(|s| !s.is_event()).map(|s| s.method.to_string()).collect();
    methods.join(" ")
}

async fn leader(server: &Arc<LeaseServer>, name: &str) -> Candidate {
    let candidate = Candidate::start(server, name);
    assert!(candidate.leadership.gained().await);
    candidate
}

fn messages(server: &LeaseServer) -> Vec<String> {
    server.events().into_iter().map(|event| event.message.unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_first_creates_the_lease_and_renews_it_with_one_write_each() {
    for encoding in [Encoding::Protobuf, Encoding::Json] {
        let server = LeaseServer::new();
        let candidate = Candidate::start_with(&server, "one", Config::default(), encoding);
        let start = Instant::now();
        assert!(
            metrics(&candidate.registry).contains("leader_election_master_status{name=\"controllers\"} 0\n")
        );
        assert!(candidate.leadership.gained().await);
        assert_eq!((start.elapsed(), methods(&server).as_str()), (Duration::ZERO, "GET POST"));
        let created = server.record();
        let expected = LeaseSpec {
            holder_identity: Some(candidate.identity.clone()),
            lease_duration_seconds: Some(15),
            lease_transitions: Some(0),
            renew_time: created.acquire_time.clone(),
            acquire_time: created.acquire_time.clone(),
            ..LeaseSpec::default()
        };
        assert_eq!(created, expected);
        let age = Timestamp::now().duration_since(created.acquire_time.clone().unwrap().0);
        assert!(age.abs() < SignedDuration::from_mins(1), "the record has the time of day");

        sleep(9 * SECOND).await;
        assert_eq!(methods(&server), "PUT PUT PUT PUT");
        let renewed = server.record();
        assert!(renewed.renew_time > created.renew_time);
        assert_eq!(LeaseSpec { renew_time: created.renew_time.clone(), ..renewed }, created);

        let events = server.events();
        let [event] = &events[..] else { panic!("{events:?}") };
        let object = &event.involved_object;
        assert_eq!(event.message, Some(format!("{} became leader", candidate.identity)));
        assert_eq!(
            (event.reason.as_deref(), event.type_.as_deref()),
            (Some("LeaderElection"), Some("Normal"))
        );
        assert_eq!((object.kind.as_deref(), object.name.as_deref()), (Some("Lease"), Some("controllers")));
        assert_eq!(object.api_version.as_deref(), Some("coordination.k8s.io/v1"));
        assert_eq!(object.uid, server.lease().unwrap().metadata.uid);
        assert!(
            metrics(&candidate.registry).contains("leader_election_master_status{name=\"controllers\"} 1\n")
        );
    }
}

/// Another's Lease whose times make no sense is respected for as long as it says, counted from when we saw it.
#[tokio::test(start_paused = true)]
async fn a_silent_holder_is_replaced_after_its_own_duration() {
    let hour = SignedDuration::from_hours(1);
    for renewed in [Timestamp::now() - hour, Timestamp::now() + hour, Timestamp::UNIX_EPOCH] {
        let server = LeaseServer::new();
        let metadata = ObjectMeta {
            namespace: Some("kube-system".to_owned()),
            name: Some("controllers".to_owned()),
            uid: Some("u".to_owned()),
            labels: Some(BTreeMap::from([("app".to_owned(), "x".to_owned())])),
            annotations: Some(BTreeMap::from([("note".to_owned(), "y".to_owned())])),
            finalizers: Some(vec!["example.com/z".to_owned()]),
            ..ObjectMeta::default()
        };
        let spec = LeaseSpec {
            holder_identity: Some("other".to_owned()),
            lease_duration_seconds: Some(40),
            lease_transitions: Some(6),
            acquire_time: Some(MicroTime(renewed)),
            renew_time: Some(MicroTime(renewed)),
            strategy: Some("OldestEmulationVersion".to_owned()),
            preferred_holder: Some("third".to_owned()),
        };
        server.edit(|lease| *lease = Some(Lease { metadata: metadata.clone(), spec: Some(spec) }));
        let start = Instant::now();
        let candidate = leader(&server, "one").await;
        assert_eq!(start.elapsed(), 40 * SECOND);
        let Lease { metadata: now, spec } = server.lease().unwrap();
        assert_eq!(ObjectMeta { resource_version: None, ..now }, metadata, "all of it is kept");
        let spec = spec.unwrap();
        assert_eq!(
            (spec.holder_identity, spec.lease_transitions),
            (Some(candidate.identity.clone()), Some(7))
        );
        assert_eq!((spec.acquire_time.as_ref(), spec.strategy), (spec.renew_time.as_ref(), None));
        assert_eq!(spec.lease_duration_seconds, Some(15));
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_noticed_within_the_lease_duration_and_a_retry_period() {
    let server = LeaseServer::new();
    let first = leader(&server, "one").await;
    let second = Candidate::start(&server, "two");
    sleep(60 * SECOND).await;
    assert!(first.leadership.is_held() && !second.leadership.is_held());
    let writes_of_second =
        server.take_sent().into_iter().filter(|s| s.by == "two" && s.method != Method::GET);
    assert_eq!(writes_of_second.count(), 0, "a standby only reads");

    first.kill();
    let killed = Instant::now();
    first.leadership.lost().await;
    assert!(killed.elapsed() <= 10 * SECOND, "{:?}", killed.elapsed());
    assert!(second.leadership.gained().await);
    let took = killed.elapsed();
    assert!((13 * SECOND..=17 * SECOND).contains(&took), "{took:?}");
    assert_eq!(server.objections(), [""; 0]);
}

/// Until the workers have stopped the Lease is renewed; then the next one has it within a retry period.
#[tokio::test(start_paused = true)]
async fn a_release_comes_after_the_work_and_is_noticed_at_once() {
    let server = LeaseServer::new();
    let first = leader(&server, "one").await;
    let (identity, leadership) = (first.identity.clone(), first.leadership.clone());
    let second = Candidate::start(&server, "two");
    sleep(30 * SECOND).await;
    assert!(first.leadership.is_held(), "still working");
    methods(&server);
    let start = Instant::now();
    first.stop().await.unwrap();
    assert!(!leadership.is_held());
    assert_eq!(methods(&server), "GET PUT");
    let released = server.record();
    let expected = LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        lease_transitions: Some(0),
        acquire_time: released.renew_time.clone(),
        renew_time: released.renew_time.clone(),
        ..LeaseSpec::default()
    };
    assert_eq!(released, expected);
    assert!(second.leadership.gained().await);
    assert!(start.elapsed() <= 2 * SECOND, "{:?}", start.elapsed());
    assert_eq!(server.record().lease_transitions, Some(1));
    sleep(SECOND).await;
    let became = |identity: &str| format!("{identity} became leader");
    let mut expected = [became(&identity), format!("{identity} stopped leading"), became(&second.identity)];
    let mut told = messages(&server);
    expected.sort();
    told.sort();
    assert_eq!(told, expected);
    assert_eq!(server.objections(), [""; 0]);
}

/// From the tenth second after the last renewal was sent nothing is written, and five seconds later others may.
#[tokio::test(start_paused = true)]
async fn without_the_api_server_leadership_ends_before_anyone_else_can_have_it() {
    for end in [End::Broken, End::Swallowed, End::Refused(500), End::Refused(403)] {
        let server = LeaseServer::new();
        let first = leader(&server, "one").await;
        let start = Instant::now();
        let writer = server.client("worker", Encoding::Json).with_leadership(first.leadership.clone());
        server.judge_anew(move |sent| match &*sent.by {
            "worker" => End::Swallowed.into(),
            _ => end.into(),
        });
        server.take_sent();
        let write = async {
            sleep(9 * SECOND).await;
            let outcome = writer.create(LEASES, &Lease::default()).await;
            (start.elapsed(), outcome)
        };
        let (at, outcome) = write.await;
        assert!(matches!(outcome, Err(ApiError::NotLeader)), "given up under way: {outcome:?}");
        assert_eq!(at, 10 * SECOND, "{end:?}");
        let lost = first.election.await.unwrap().unwrap_err();
        assert_eq!(lost.to_string(), "lease kube-system/controllers was not renewed within 10s");
        assert_eq!(start.elapsed(), 10 * SECOND);

        let before = server.take_sent().len();
        assert!(before > 2, "it tried");
        let refused = writer.create(LEASES, &Lease::default()).await;
        assert!(matches!(refused, Err(ApiError::NotLeader)), "{refused:?}");
        assert!(metrics(&first.registry).contains("leader_election_master_status{name=\"controllers\"} 0\n"));
        assert_eq!(
            server.take_sent().iter().filter(|s| !s.is_event()).count(),
            0,
            "nothing is sent any more"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_is_survived() {
    for end in [End::Broken, End::Swallowed, End::AnswerBroken, End::AnswerSwallowed, End::Refused(503)] {
        let server = LeaseServer::new();
        let first = leader(&server, "one").await;
        sleep(SECOND).await;
        let back = Instant::now() + 6 * SECOND;
        server.judge_anew(move |_| if Instant::now() < back { end.into() } else { Fate::default() });
        sleep(60 * SECOND).await;
        assert!(first.leadership.is_held() && !first.election.is_finished(), "{end:?}");
        assert_eq!(server.objections(), [""; 0]);
        assert_eq!(server.record().lease_transitions, Some(0));
    }
}

/// One request hangs for ever, as on a connection whose other end vanished: there is time for another.
#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_costs_half_the_deadline() {
    let server = LeaseServer::new();
    let first = leader(&server, "one").await;
    let start = Instant::now();
    server.take_sent();
    let mut fates = [End::Swallowed].into_iter();
    server.judge_anew(move |_| fates.next().unwrap_or_default().into());
    sleep(8 * SECOND).await;
    let times: Vec<(String, Duration)> =
        server.take_sent().iter().map(|s| (s.method.to_string(), s.at - start)).collect();
    let expected = [("PUT", 2), ("GET", 7), ("PUT", 7)].map(|(m, s)| (m.to_owned(), s * SECOND));
    assert_eq!(times, expected);
    assert!(first.leadership.is_held());
    // Upstream's text, to the letter.
    let expected = "\
        # HELP leader_election_master_status [ALPHA] Gauge of if the reporting system is master of the relevant lease, \
        0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to \
        group by name.\n\
        # TYPE leader_election_master_status gauge\n\
        leader_election_master_status{name=\"controllers\"} 1\n\
        # HELP leader_election_slowpath_total [ALPHA] Total number of slow path exercised in renewing leader leases. \
        'name' is the string used to identify the lease. Please make sure to group by name.\n\
        # TYPE leader_election_slowpath_total counter\n\
        leader_election_slowpath_total{name=\"controllers\"} 1\n\
        # EOF\n";
    assert_eq!(metrics(&first.registry), expected);
}

#[tokio::test(start_paused = true)]
async fn metadata_that_others_change_meanwhile_is_kept() {
    let server = LeaseServer::new();
    let first = leader(&server, "one").await;
    sleep(SECOND).await;
    methods(&server);
    let labels = Some(BTreeMap::from([("app".to_owned(), "x".to_owned())]));
    server.edit(|lease| lease.as_mut().unwrap().metadata.labels = labels.clone());
    sleep(4 * SECOND).await;
    assert_eq!(methods(&server), "PUT GET PUT PUT");
    assert_eq!(server.lease().unwrap().metadata.labels, labels);
    let record = server.record();
    assert!(record.renew_time > record.acquire_time);
    assert_eq!((record.holder_identity, record.lease_transitions), (Some(first.identity.clone()), Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_deletes_is_created_again() {
    let server = LeaseServer::new();
    let first = leader(&server, "one").await;
    server.edit(|lease| *lease = None);
    methods(&server);
    sleep(3 * SECOND).await;
    assert_eq!(methods(&server), "PUT GET POST");
    assert!(first.leadership.is_held());
    assert_eq!(server.holder(), first.identity);
}

#[tokio::test(start_paused = true)]
async fn a_leader_gives_way_as_soon_as_it_reads_another_name() {
    let server = LeaseServer::new();
    let first = leader(&server, "one").await;
    let start = Instant::now();
    server.edit(|lease| {
        lease.as_mut().unwrap().spec.as_mut().unwrap().holder_identity = Some("usurper".to_owned());
    });
    methods(&server);
    first.leadership.lost().await;
    assert_eq!(start.elapsed(), 2 * SECOND);
    let lost = first.election.await.unwrap().unwrap_err();
    assert!(matches!(lost, LeaseLost::Taken { .. }));
    assert_eq!(lost.to_string(), "lease kube-system/controllers was taken by usurper");
    assert_eq!((methods(&server).as_str(), server.holder().as_str()), ("PUT GET", "usurper"), "left to it");
    sleep(SECOND).await;
    let identity = &first.identity;
    assert_eq!(
        messages(&server),
        [format!("{identity} became leader"), format!("{identity} stopped leading")]
    );
}

/// The API server did what was asked, and nobody heard of it.
#[tokio::test(start_paused = true)]
async fn an_acquisition_whose_answer_is_lost_is_found_at_the_next_try() {
    for end in [End::AnswerBroken, End::AnswerSwallowed] {
        let server = LeaseServer::judging(first_write(end));
        let candidate = leader(&server, "one").await;
        assert_eq!(server.record().lease_transitions, Some(0), "the same term");
        assert_eq!(methods(&server), "GET POST GET PUT");
        assert_eq!(server.holder(), candidate.identity);
    }
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_that_may_have_succeeded_is_released_at_the_end() {
    // The first arrives before the end, the second after the release has looked for it.
    for before in [Duration::ZERO, MILLISECOND * 200] {
        let mut judge = first_write(End::AnswerSwallowed);
        let server = LeaseServer::judging(move |sent| match judge(sent) {
            fate if fate.end == End::AnswerSwallowed => Fate { before, ..fate },
            fate => Fate { after: MILLISECOND * 300, ..fate },
        });
        let candidate = Candidate::start(&server, "one");
        sleep(MILLISECOND * 310).await;
        candidate.stop().await.unwrap();
        sleep(SECOND).await;
        let released = before.is_zero();
        assert_eq!(server.holder().is_empty(), released);
        assert_eq!(methods(&server), if released { "GET POST GET PUT" } else { "GET POST GET" });
        assert_eq!(server.events(), []);
    }
}

fn first_write(end: End) -> impl FnMut(&Sent) -> Fate + Send + 'static {
    let mut first = true;
    move |sent| {
        let spoilt = first && sent.method != Method::GET;
        first &= !spoilt;
        if spoilt { end.into() } else { Fate::default() }
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_meets_a_renewal_that_is_still_under_way() {
    let server = LeaseServer::new();
    let first = leader(&server, "one").await;
    let mut writes = 0;
    server.judge_anew(move |sent| {
        writes += u32::from(sent.method == Method::PUT);
        // The renewal arrives between the read and the write of the release.
        let before = if writes == 1 && sent.method == Method::PUT { SECOND } else { SECOND / 2 };
        Fate { before, ..Fate::default() }
    });
    sleep(2 * SECOND + SECOND / 4).await;
    methods(&server);
    first.stop().await.unwrap();
    assert_eq!(methods(&server), "GET PUT GET PUT");
    assert_eq!(server.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn a_standby_stops_without_a_request_and_refusals_are_retried_for_ever() {
    let server = LeaseServer::judging(|_| End::Refused(403).into());
    let candidate = Candidate::start(&server, "one");
    sleep(3600 * SECOND).await;
    assert!(!candidate.election.is_finished());
    let tries = server.take_sent().len();
    assert!((1800..=3601).contains(&tries), "{tries}");
    candidate.stop().await.unwrap();
    assert_eq!(methods(&server), "");
}

/// As by SIGSTOP for longer than the deadline: it must not write on waking up, nor make the others wait again.
#[tokio::test(start_paused = true)]
async fn a_process_that_was_stopped_for_too_long_renews_nothing() {
    let server = LeaseServer::new();
    let first = leader(&server, "one").await;
    sleep(3 * SECOND).await;
    methods(&server);
    let renewed = server.record().renew_time;
    tokio::time::advance(30 * SECOND).await;
    assert!(!first.leadership.is_held());
    assert!(matches!(first.election.await.unwrap(), Err(LeaseLost::Deadline { .. })));
    assert_eq!((methods(&server).as_str(), server.record().renew_time), ("", renewed));
}

/// By the time it is known it has run out: it may be somebody else's already.
#[tokio::test(start_paused = true)]
async fn an_acquisition_that_is_too_old_does_not_count() {
    let server = LeaseServer::judging(|sent| Fate {
        after: if sent.method == Method::POST { MILLISECOND * 700 } else { Duration::ZERO },
        ..Fate::default()
    });
    let config = Config::new(SECOND, MILLISECOND * 500, MILLISECOND * 100).unwrap();
    let candidate = Candidate::start_with(&server, "one", config, Encoding::Protobuf);
    assert!(candidate.leadership.gained().await);
    assert_eq!(methods(&server), "GET POST GET PUT");
}

#[tokio::test(start_paused = true)]
async fn reads_need_no_leadership_and_writes_do() {
    let server = LeaseServer::new();
    let first = leader(&server, "one").await;
    let client = server.client("worker", Encoding::Protobuf).with_leadership(first.leadership.clone());
    let path = format!("{LEASES}/controllers");
    let lease: Lease = client.get(&path).await.unwrap();
    client.update(&path, &lease).await.unwrap();
    first.stop().await.unwrap();
    client.get::<Lease>(&path).await.unwrap();
    server.take_sent();
    let preconditions = controller_runtime::api::Preconditions::default();
    for outcome in [
        client.update(&path, &lease).await.map(drop),
        client.create(LEASES, &lease).await.map(drop),
        client.patch::<Lease>(&path, &serde_json::json!({})).await.map(drop),
        client.delete(&path, &preconditions).await,
    ] {
        assert!(matches!(outcome, Err(ApiError::NotLeader)), "{outcome:?}");
    }
    assert_eq!(server.take_sent().iter().filter(|s| !s.is_event()).count(), 0);
}
