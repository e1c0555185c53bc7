//! Electors against a scripted API server, on a paused clock.
use std::collections::BTreeMap;
use std::time::Duration;

use controller_kit::election::Config;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube_api::Encoding;
use tokio::time::{Instant, sleep};

use scripted_api::candidates::{Candidate, metrics};
use scripted_api::leases::{End, Fate, LeaseServer, first_write};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn the_first_creates_the_lease_and_renews_it_with_one_write_each() {
    for encoding in [Encoding::Protobuf, Encoding::Json] {
        let server = LeaseServer::new();
        let begin = Timestamp::now();
        let candidate = Candidate::start_with(&server, "one", Config::default(), encoding);
        let start = Instant::now();
        assert!(
            metrics(&candidate.registry).contains("leader_election_master_status{name=\"controllers\"} 0\n")
        );
        assert!(candidate.leadership.gained().await);
        assert_eq!((start.elapsed(), server.take_methods().as_str()), (Duration::ZERO, "GET POST"));
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
        // The Lease has whole microseconds.
        let acquired = begin - SECOND..=Timestamp::now();
        assert!(
            acquired.contains(&created.acquire_time.clone().unwrap().0),
            "the record has the time of day"
        );

        sleep(9 * SECOND).await;
        assert_eq!(server.take_methods(), "PUT PUT PUT PUT");
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

/// A Lease with wrong times is respected for its duration, counted from when it was first seen.
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
        let candidate = Candidate::leading(&server, "one").await;
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
    let first = Candidate::leading(&server, "one").await;
    let second = Candidate::start(&server, "two");
    sleep(60 * SECOND).await;
    assert!(first.leadership.is_held() && !second.leadership.is_held());
    let writes_of_second =
        server.take_sent().into_iter().filter(|s| s.by == "two" && s.method != Method::GET);
    assert_eq!(writes_of_second.count(), 0, "a standby only reads");

    first.kill();
    let killed = Instant::now();
    first.leadership.lost().await;
    assert!(killed.elapsed() <= SECOND, "its writers are fenced at once: {:?}", killed.elapsed());
    assert!(second.leadership.gained().await);
    let took = killed.elapsed();
    assert!((13 * SECOND..=17 * SECOND).contains(&took), "{took:?}");
    assert_eq!(server.violations(), [""; 0]);
    for (candidate, expired) in [(&first, 0), (&second, 1)] {
        let series = format!("leader_election_expired_leases_total{{name=\"controllers\"}} {expired}\n");
        assert!(metrics(&candidate.registry).contains(&series), "{series}");
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_that_others_change_meanwhile_is_kept() {
    let server = LeaseServer::new();
    let first = Candidate::leading(&server, "one").await;
    sleep(SECOND).await;
    server.take_methods();
    let labels = Some(BTreeMap::from([("app".to_owned(), "x".to_owned())]));
    server.edit(|lease| lease.as_mut().unwrap().metadata.labels = labels.clone());
    sleep(4 * SECOND).await;
    assert_eq!(server.take_methods(), "PUT GET PUT PUT");
    assert_eq!(server.lease().unwrap().metadata.labels, labels);
    let record = server.record();
    assert!(record.renew_time > record.acquire_time);
    assert_eq!((record.holder_identity, record.lease_transitions), (Some(first.identity.clone()), Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_created_again() {
    let server = LeaseServer::new();
    let first = Candidate::leading(&server, "one").await;
    server.edit(|lease| *lease = None);
    server.take_methods();
    sleep(3 * SECOND).await;
    assert_eq!(server.take_methods(), "PUT GET POST");
    assert!(first.leadership.is_held());
    assert_eq!(server.holder(), first.identity);
}

/// The API server processed the request, and the answer was lost.
#[tokio::test(start_paused = true)]
async fn an_acquisition_whose_answer_is_lost_is_found_at_the_next_try() {
    for end in [End::AnswerBroken, End::AnswerSwallowed] {
        let server = LeaseServer::with_fates(first_write(end));
        let candidate = Candidate::leading(&server, "one").await;
        assert_eq!(server.record().lease_transitions, Some(0), "the same term");
        assert_eq!(server.take_methods(), "GET POST GET PUT");
        assert_eq!(server.holder(), candidate.identity);
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_stops_without_a_request_and_refusals_are_retried_for_ever() {
    let server = LeaseServer::with_fates(|_| End::Refused(403).into());
    let candidate = Candidate::start(&server, "one");
    sleep(3600 * SECOND).await;
    assert!(!candidate.election.is_finished());
    let tries = server.take_sent().len();
    assert!((1800..=3601).contains(&tries), "{tries}");
    candidate.stop().await.unwrap();
    assert_eq!(server.take_methods(), "");
}

/// When the answer arrives, the Lease has expired: another process may hold it already.
#[tokio::test(start_paused = true)]
async fn an_acquisition_that_is_too_old_does_not_count() {
    let server = LeaseServer::with_fates(|sent| Fate {
        after: if sent.method == Method::POST { MILLISECOND * 700 } else { Duration::ZERO },
        ..Fate::default()
    });
    let config = Config::new(SECOND, MILLISECOND * 500, MILLISECOND * 100).unwrap();
    let candidate = Candidate::start_with(&server, "one", config, Encoding::Protobuf);
    assert!(candidate.leadership.gained().await);
    assert_eq!(server.take_methods(), "GET POST GET PUT");
}
