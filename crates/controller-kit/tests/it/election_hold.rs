//! A Lease that an operator holds by an annotation, on a paused clock.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::time::{Instant, advance, sleep};

use scripted_api::candidates::{Candidate, HOLD, metrics};
use scripted_api::leases::LeaseServer;

const SECOND: Duration = Duration::from_secs(1);
/// Far longer than any duration of the election.
const HOUR: Duration = Duration::from_secs(3_600);
/// After this, a hold is not a leftover either.
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Sets an annotation, or removes it.
fn annotate(lease: &mut Option<Lease>, annotation: &str, value: Option<&str>) {
    let annotations = lease.as_mut().unwrap().metadata.annotations.get_or_insert_default();
    match value {
        Some(value) => drop(annotations.insert(annotation.to_owned(), value.to_owned())),
        None => drop(annotations.remove(annotation)),
    }
}

/// The Lease as a manifest with a hold creates it.
fn manifest() -> Lease {
    let metadata = ObjectMeta {
        namespace: Some("kube-system".to_owned()),
        name: Some("controllers".to_owned()),
        ..ObjectMeta::default()
    };
    let mut lease = Some(Lease { metadata, spec: Some(LeaseSpec::default()) });
    annotate(&mut lease, HOLD.annotation, Some("migration"));
    lease.unwrap()
}

fn is_held(candidate: &Candidate) -> bool {
    metrics(&candidate.registry).contains("leader_election_held{name=\"controllers\"} 1\n")
}

/// A hold does not expire. Each form of a release ends it within a retry period.
#[tokio::test(start_paused = true)]
async fn a_held_lease_is_acquired_when_it_is_released_and_not_before() {
    for (annotation, value) in [(HOLD.released, Some("me")), (HOLD.annotation, None)] {
        let server = LeaseServer::new();
        server.edit(|lease| *lease = Some(manifest()));
        let candidates = ["one", "two"].map(|name| Candidate::start(&server, name));
        advance(DAY).await;
        sleep(HOUR).await;
        assert!(candidates.iter().all(|it| !it.leadership.is_held() && is_held(it)));
        assert_eq!(server.holder(), "");

        server.edit(|lease| annotate(lease, annotation, value));
        let released = Instant::now();
        tokio::select! {
            is_leader = candidates[0].leadership.gained() => assert!(is_leader),
            is_leader = candidates[1].leadership.gained() => assert!(is_leader),
        }
        assert!(released.elapsed() <= 2 * SECOND, "{:?}", released.elapsed());
        sleep(2 * SECOND).await;
        assert!(candidates.iter().all(|it| !is_held(it)));
        assert_eq!(server.violations(), [""; 0]);
    }
}

/// A leader is not affected by manifests with a hold that are applied again: neither those that put the annotation back nor
/// those that replace the whole Lease. If it is a hold in force, no process succeeds it.
#[tokio::test(start_paused = true)]
async fn a_leader_keeps_a_lease_that_is_held_again() {
    let server = LeaseServer::new();
    let leader = Candidate::leading(&server, "one").await;
    let standby = Candidate::start(&server, "two");
    for replace in [false, true] {
        server.edit(|lease| {
            annotate(lease, HOLD.annotation, Some("migration"));
            if replace {
                let replaced = lease.as_mut().unwrap();
                replaced.spec = manifest().spec;
            }
        });
        sleep(60 * SECOND).await;
        assert!(leader.leadership.is_held() && !standby.leadership.is_held(), "replaced: {replace}");
        assert_eq!(server.holder(), leader.identity);
        assert!(is_held(&leader) && is_held(&standby));
    }

    leader.kill();
    sleep(HOUR).await;
    assert!(!standby.leadership.is_held(), "the hold is in force");
    server.edit(|lease| annotate(lease, HOLD.released, Some("me")));
    assert!(standby.leadership.gained().await);

    // Once released, it stays so.
    server.edit(|lease| annotate(lease, HOLD.annotation, Some("migration again")));
    sleep(2 * SECOND).await;
    assert!(!is_held(&standby));
    standby.kill();
    assert!(Candidate::start(&server, "three").leadership.gained().await);
    assert_eq!(server.violations(), [""; 0]);
}

/// A leader that stops in order releases a held Lease, and nothing takes it.
#[tokio::test(start_paused = true)]
async fn a_held_lease_can_be_released_by_its_leader() {
    let server = LeaseServer::new();
    let leader = Candidate::leading(&server, "one").await;
    server.edit(|lease| annotate(lease, HOLD.annotation, Some("migration")));
    sleep(10 * SECOND).await;
    leader.stop().await.unwrap();
    assert_eq!(server.holder(), "");
    let standby = Candidate::start(&server, "two");
    sleep(HOUR).await;
    assert!(!standby.leadership.is_held());
}
