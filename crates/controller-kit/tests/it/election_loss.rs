//! The end of leadership: on request, without the API server, by another holder, after a freeze. Nothing is written
//! then.
use std::time::Duration;

use controller_kit::election::{Config, LeaseLost};
use http::Method;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube_api::{ApiError, Encoding};
use tokio::time::{Instant, sleep};

use scripted_api::candidates::{Candidate, metrics};
use scripted_api::leases::{End, Fate, LEASES, LeaseServer, first_write};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// The Lease is renewed until the workers have stopped; then a standby acquires it within a retry period.
#[tokio::test(start_paused = true)]
async fn a_release_comes_after_the_work_and_is_noticed_at_once() {
    let server = LeaseServer::new();
    let first = Candidate::leading(&server, "one").await;
    let (identity, leadership) = (first.identity.clone(), first.leadership.clone());
    let second = Candidate::start(&server, "two");
    sleep(30 * SECOND).await;
    assert!(first.leadership.is_held(), "still working");
    server.take_methods();
    let start = Instant::now();
    first.stop().await.unwrap();
    assert!(!leadership.is_held());
    assert_eq!(server.take_methods(), "GET PUT");
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
    assert!(
        metrics(&second.registry).contains("leader_election_expired_leases_total{name=\"controllers\"} 0\n")
    );
    sleep(SECOND).await;
    let became = |identity: &str| format!("{identity} became leader");
    let mut expected = [became(&identity), format!("{identity} stopped leading"), became(&second.identity)];
    let mut events = server.messages();
    expected.sort();
    events.sort();
    assert_eq!(events, expected);
    assert_eq!(server.violations(), [""; 0]);
}

/// Nothing is written from 10 s after the last renewal was sent; 5 s later other processes may write.
#[tokio::test(start_paused = true)]
async fn without_the_api_server_leadership_ends_before_another_process_can_acquire_it() {
    for end in [End::Broken, End::Swallowed, End::Refused(500), End::Refused(403)] {
        let server = LeaseServer::new();
        let first = Candidate::leading(&server, "one").await;
        let start = Instant::now();
        let writer = server.client("worker", Encoding::Json).with_leadership(first.leadership.clone());
        server.set_fates(move |sent| match &*sent.by {
            "worker" => End::Swallowed.into(),
            _ => end.into(),
        });
        server.take_sent();
        sleep(9 * SECOND).await;
        let outcome = writer.create(LEASES, &Lease::default()).await;
        assert!(matches!(outcome, Err(ApiError::NotLeader)), "cancelled: {outcome:?}");
        assert_eq!(start.elapsed(), 10 * SECOND, "{end:?}");
        let lost = first.election.await.unwrap().unwrap_err();
        assert_eq!(lost.to_string(), "lease kube-system/controllers was not renewed within 10s");
        assert_eq!(start.elapsed(), 10 * SECOND);

        let before = server.take_sent().len();
        assert!(before > 2, "it tried");
        let refused = writer.create(LEASES, &Lease::default()).await;
        assert!(matches!(refused, Err(ApiError::NotLeader)), "{refused:?}");
        assert!(metrics(&first.registry).contains("leader_election_master_status{name=\"controllers\"} 0\n"));
        assert_eq!(server.take_methods(), "", "no more requests");
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_is_survived() {
    for end in [End::Broken, End::Swallowed, End::AnswerBroken, End::AnswerSwallowed, End::Refused(503)] {
        let server = LeaseServer::new();
        let first = Candidate::leading(&server, "one").await;
        sleep(SECOND).await;
        let back = Instant::now() + 6 * SECOND;
        server.set_fates(move |_| if Instant::now() < back { end.into() } else { Fate::default() });
        sleep(60 * SECOND).await;
        assert!(first.leadership.is_held() && !first.election.is_finished(), "{end:?}");
        assert_eq!(server.violations(), [""; 0]);
        assert_eq!(server.record().lease_transitions, Some(0));
    }
}

/// A request that hangs, as on a dead connection, leaves time for another.
#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_costs_half_the_deadline() {
    let server = LeaseServer::new();
    let first = Candidate::leading(&server, "one").await;
    let start = Instant::now();
    server.take_sent();
    let mut fates = [End::Swallowed].into_iter();
    server.set_fates(move |_| fates.next().unwrap_or_default().into());
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
        leader_election_slowpath_total{name=\"controllers\"} 1\n";
    assert!(metrics(&first.registry).starts_with(expected), "{}", metrics(&first.registry));
}

#[tokio::test(start_paused = true)]
async fn a_leader_stops_when_it_reads_another_holder() {
    let server = LeaseServer::new();
    let first = Candidate::leading(&server, "one").await;
    let start = Instant::now();
    server.edit(|lease| {
        lease.as_mut().unwrap().spec.as_mut().unwrap().holder_identity = Some("other".to_owned());
    });
    server.take_methods();
    first.leadership.lost().await;
    assert_eq!(start.elapsed(), 2 * SECOND);
    let lost = first.election.await.unwrap().unwrap_err();
    assert!(matches!(lost, LeaseLost::Taken { .. }));
    assert_eq!(lost.to_string(), "lease kube-system/controllers was taken by other");
    assert_eq!(
        (server.take_methods().as_str(), server.holder().as_str()),
        ("PUT GET", "other"),
        "not taken back"
    );
    sleep(SECOND).await;
    let identity = &first.identity;
    assert_eq!(
        server.messages(),
        [format!("{identity} became leader"), format!("{identity} stopped leading")]
    );
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_that_may_have_succeeded_is_released_at_the_end() {
    // The first arrives before the end, the second after the release has looked for it.
    for before in [Duration::ZERO, MILLISECOND * 200] {
        let mut decide = first_write(End::AnswerSwallowed);
        let server = LeaseServer::with_fates(move |sent| match decide(sent) {
            fate if fate.end == End::AnswerSwallowed => Fate { before, ..fate },
            fate => Fate { after: MILLISECOND * 300, ..fate },
        });
        let candidate = Candidate::start(&server, "one");
        sleep(MILLISECOND * 310).await;
        candidate.stop().await.unwrap();
        sleep(SECOND).await;
        let released = before.is_zero();
        assert_eq!(server.holder().is_empty(), released);
        assert_eq!(server.take_methods(), if released { "GET POST GET PUT" } else { "GET POST GET" });
        assert_eq!(server.events(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_meets_a_renewal_that_is_still_under_way() {
    let server = LeaseServer::new();
    let first = Candidate::leading(&server, "one").await;
    let mut writes = 0;
    server.set_fates(move |sent| {
        writes += u32::from(sent.method == Method::PUT);
        // The renewal arrives between the read and the write of the release.
        let before = if writes == 1 && sent.method == Method::PUT { SECOND } else { SECOND / 2 };
        Fate { before, ..Fate::default() }
    });
    sleep(2 * SECOND + SECOND / 4).await;
    server.take_methods();
    first.stop().await.unwrap();
    assert_eq!(server.take_methods(), "GET PUT GET PUT");
    assert_eq!(server.holder(), "");
}

/// As by SIGSTOP for longer than the deadline: the process must not write afterwards, nor make standbys wait again.
#[tokio::test(start_paused = true)]
async fn a_process_that_was_stopped_for_too_long_renews_nothing() {
    let server = LeaseServer::new();
    let first = Candidate::leading(&server, "one").await;
    sleep(3 * SECOND).await;
    server.take_methods();
    let renewed = server.record().renew_time;
    tokio::time::advance(30 * SECOND).await;
    assert!(!first.leadership.is_held());
    assert!(matches!(first.election.await.unwrap(), Err(LeaseLost::Deadline { .. })));
    assert_eq!((server.take_methods().as_str(), server.record().renew_time), ("", renewed));
}

/// The answer to a renewal came while the process was stopped, and leadership ended; it is not regained.
#[tokio::test(start_paused = true)]
async fn a_process_that_was_stopped_for_too_long_ignores_old_answers() {
    let server = LeaseServer::with_fates(|sent| Fate {
        after: if sent.method == Method::PUT { MILLISECOND * 100 } else { Duration::ZERO },
        ..Fate::default()
    });
    let stops = vec![(MILLISECOND * 2050, MILLISECOND * 9500)];
    let candidate = Candidate::start_stopping(&server, "one", Config::default(), Encoding::Protobuf, stops);
    let start = Instant::now();
    assert!(matches!(candidate.election.await.unwrap(), Err(LeaseLost::Deadline { .. })));
    assert_eq!(start.elapsed(), MILLISECOND * 11_550);
    assert_eq!(server.take_methods(), "GET POST PUT");
}

#[tokio::test(start_paused = true)]
async fn reads_need_no_leadership_and_writes_do() {
    let server = LeaseServer::new();
    let first = Candidate::leading(&server, "one").await;
    let client = server.client("worker", Encoding::Protobuf).with_leadership(first.leadership.clone());
    let path = format!("{LEASES}/controllers");
    let lease: Lease = client.get(&path).await.unwrap();
    client.update(&path, &lease).await.unwrap();
    first.stop().await.unwrap();
    client.get::<Lease>(&path).await.unwrap();
    server.take_sent();
    let preconditions = kube_api::Preconditions::default();
    for outcome in [
        client.update(&path, &lease).await.map(drop),
        client.create(LEASES, &lease).await.map(drop),
        client.patch::<Lease>(&path, &serde_json::json!({})).await.map(drop),
        client.delete(&path, &preconditions).await,
    ] {
        assert!(matches!(outcome, Err(ApiError::NotLeader)), "{outcome:?}");
    }
    assert_eq!(server.take_methods(), "");
}
