//! Policies and clients that take slices, on a clock that is an argument.

use k8s_openapi::api::discovery::v1::Endpoint;

use super::*;

fn key() -> ObjectKey {
    ObjectKey::new("shop", "web")
}

fn slice(number: u32, addresses: &[&str]) -> Taken {
    let text = number.to_string();
    let addresses = addresses.iter().map(|it| (*it).to_owned()).collect();
    Taken { name: text.clone(), uid: text.clone(), resource_version: text, addresses }
}

fn wanted(addresses: &[&str]) -> EndpointSlice {
    let endpoint =
        |address: &&str| Endpoint { addresses: vec![(*address).to_owned()], ..Endpoint::default() };
    let endpoints = Some(addresses.iter().map(endpoint).collect());
    EndpointSlice { endpoints, ..EndpointSlice::default() }
}

fn client() -> Author {
    Author::Manager("other-client".into())
}

fn uid(number: u32) -> Uid {
    Uid::from(&*number.to_string())
}

/// A policy takes each new slice for `time`. Returns the numbers of creates and of slices that are left.
fn under_a_policy(slices: &mut Reassignments, time: Duration) -> (u32, u32) {
    let (start, mut created, mut deleted) = (Instant::now(), 0, 0);
    let mut now = start;
    while now.duration_since(start) < time {
        if !slices.creates(&key(), now).is_reached() {
            created += 1;
            let taken = [slice(created, &["a"])];
            let superseded = slices.synced(&key(), &taken, [wanted(&["a"])].iter(), false, now);
            deleted += u32::try_from(superseded.len()).unwrap();
        }
        now += slices.rest(&key(), now).max(Duration::from_secs(1));
    }
    (created, created - deleted)
}

#[test]
fn a_policy_costs_three_tries_and_then_ever_fewer() {
    let mut slices = Reassignments::default();
    assert_eq!(under_a_policy(&mut slices, Duration::from_secs(60)), (3, 1));
    let mut slices = Reassignments::default();
    assert_eq!(under_a_policy(&mut slices, Duration::from_hours(1)), (9, 1));
    assert_eq!(slices.report(&key()), Some(Author::Admission));
    assert_eq!(slices.report(&key()), None, "once");
    let left_behind = slices.synced(&key(), &[], [].iter(), true, Instant::now());
    assert_eq!(left_behind.len(), 1, "nothing is left behind");
    assert_eq!(slices.creates(&key(), Instant::now()), CreateLimit::until_lost(FEW));
}

/// Of a Service with two address families, only one slice is created by a later try.
#[test]
fn a_slice_stays_until_its_endpoints_are_in_another_or_gone() {
    let (mut slices, now) = (Reassignments::default(), Instant::now());
    let both = [wanted(&["a", "b"]), wanted(&["c"])];
    let names = |slices: Vec<Taken>| slices.into_iter().map(|slice| slice.name).collect::<Vec<_>>();
    let mut sync = |taken: &[Taken], wanted: &[EndpointSlice]| {
        names(slices.synced(&key(), taken, wanted.iter(), false, now))
    };
    assert_eq!(sync(&[slice(1, &["a", "b"]), slice(2, &["c"])], &both), [""; 0]);
    assert_eq!(sync(&[slice(3, &["a", "b"])], &both), ["1"], "c is in 2 alone");
    assert_eq!(sync(&[], &both), [""; 0]);
    assert_eq!(sync(&[slice(4, &["b"])], &[wanted(&["b"])]), ["2", "3"], "a and c are gone");
}

#[test]
fn many_slices_that_are_lost_in_one_sync_count_once() {
    let (mut slices, now) = (Reassignments::default(), Instant::now());
    for _ in 0..100 {
        slices.updated(&key(), now);
    }
    assert_eq!(slices.rest(&key(), now), FIRST_WAIT);
}

#[test]
fn a_client_may_relabel_each_slice_once() {
    let (mut slices, now) = (Reassignments::default(), Instant::now());
    for number in 0..100 {
        slices.relabelled(&key(), &uid(number), client(), now);
    }
    assert_eq!(slices.rest(&key(), now), Duration::ZERO);
    assert_eq!(slices.creates(&key(), now), CreateLimit::until_lost(FEW));
    for number in 0..100 {
        slices.kept(&key(), &uid(1000 + number), now);
    }
    for number in 0..3 {
        slices.relabelled(&key(), &uid(1000 + number), client(), now);
    }
    assert_eq!(slices.rest(&key(), now), FIRST_WAIT);
    assert!(slices.creates(&key(), now).is_reached());
    assert_eq!(slices.creates(&key(), now + FIRST_WAIT), CreateLimit::at_most(1));
}

/// Otherwise each process that starts meanwhile loses twice as many slices as the Service needs.
#[test]
fn new_slices_that_are_relabelled_count_from_the_first() {
    let (mut slices, start) = (Reassignments::default(), Instant::now());
    for number in 0..12 {
        slices.kept(&key(), &uid(number), start);
    }
    let now = start + YOUNG;
    for number in 0..FEW {
        assert!(!slices.creates(&key(), now).is_reached());
        slices.relabelled(&key(), &uid(u32::try_from(number).unwrap()), client(), now);
    }
    assert!(slices.creates(&key(), now).is_reached());
}

#[test]
fn a_slice_is_young_for_a_minute_and_as_long_as_few_others_are() {
    let lost = |slices: &mut Reassignments, number, now| {
        slices.relabelled(&key(), &uid(number), client(), now);
        slices.losses[&key()].count
    };
    let (mut slices, start) = (Reassignments::default(), Instant::now());
    slices.kept(&key(), &uid(0), start);
    slices.kept(&ObjectKey::new("shop", "db"), &uid(1), start);
    assert_eq!(lost(&mut slices, 1, start), 0, "of another Service");
    assert_eq!(lost(&mut slices, 0, start), 1);
    let mut slices = Reassignments::default();
    slices.kept(&key(), &uid(0), start);
    assert_eq!(lost(&mut slices, 0, start + YOUNG + Duration::from_secs(1)), 0);
    let mut slices = Reassignments::default();
    for number in 0..=1000 {
        slices.kept(&key(), &uid(number), start);
    }
    assert_eq!(slices.young.len(), MAX_YOUNG);
    assert_eq!(lost(&mut slices, 0, start), 0);
    assert_eq!(lost(&mut slices, 1000, start), 1);
    let later = start + YOUNG + Duration::from_secs(1);
    slices.kept(&ObjectKey::new("shop", "db"), &uid(1001), later);
    assert_eq!(slices.young.len(), 1);
}

/// The client takes what the policy leaves.
#[test]
fn a_client_alongside_a_policy_ends_with_a_few() {
    let (mut slices, start, mut number) = (Reassignments::default(), Instant::now(), 0);
    let mut now = start;
    while now.duration_since(start) < Duration::from_secs(60) {
        if !slices.creates(&key(), now).is_reached() {
            number += 1;
            let is_kept = number % 2 == 0;
            let taken = if is_kept { vec![] } else { vec![slice(number, &["a"])] };
            if is_kept {
                slices.kept(&key(), &uid(number), now);
            }
            slices.synced(&key(), &taken, [wanted(&["a"])].iter(), is_kept, now);
            if is_kept {
                slices.relabelled(&key(), &uid(number), client(), now);
            }
        }
        now += slices.rest(&key(), now).max(Duration::from_secs(1));
    }
    assert_eq!(number, 4);
}

/// The slices of an hour, a day and ten days.
#[test]
fn a_client_that_relabels_each_new_slice_ends_with_a_few() {
    for (hours, expected) in [(1, 8), (24, 13), (240, 22)] {
        let (mut slices, start, mut number) = (Reassignments::default(), Instant::now(), 0);
        let mut now = start;
        slices.relabelled(&key(), &uid(0), client(), now);
        while now.duration_since(start) < Duration::from_hours(hours) {
            if !slices.creates(&key(), now).is_reached() {
                number += 1;
                slices.kept(&key(), &uid(number), now);
                slices.relabelled(&key(), &uid(number), client(), now);
            }
            now += slices.rest(&key(), now).max(Duration::from_secs(1));
        }
        assert_eq!(number, expected, "{hours} hours");
    }
}

/// Its next slices are created together again, and are not remembered.
#[test]
fn a_client_that_has_stopped_costs_nothing_later() {
    let (mut slices, now) = (Reassignments::default(), Instant::now());
    for number in 0..=4 {
        slices.relabelled(&key(), &uid(number), client(), now);
        slices.kept(&key(), &uid(number + 1), now);
    }
    assert_eq!(slices.creates(&key(), now + FIRST_WAIT * 4), CreateLimit::at_most(1));
    let later = now + LONGEST_WAIT + Duration::from_secs(1);
    assert_eq!(slices.creates(&key(), later), CreateLimit::until_lost(FEW));
    slices.kept(&key(), &uid(9), later);
    assert!(slices.losses.is_empty());
}

#[test]
fn a_quiet_service_is_forgotten() {
    let (mut slices, now) = (Reassignments::default(), Instant::now());
    slices.kept(&key(), &uid(0), now);
    slices.relabelled(&key(), &uid(0), client(), now);
    for number in 1..SWEEP_AT {
        slices.relabelled(&ObjectKey::new("shop", number.to_string()), &uid(0), client(), now);
    }
    assert_eq!((slices.losses.len(), slices.losses[&key()].count), (SWEEP_AT, 1));
    let later = now + LONGEST_WAIT + Duration::from_secs(1);
    slices.relabelled(&ObjectKey::new("shop", "db"), &uid(0), client(), later);
    assert_eq!(slices.losses.len(), 1);
}

#[test]
fn the_next_loss_of_a_quiet_service_counts_as_the_first() {
    let (mut slices, now) = (Reassignments::default(), Instant::now());
    slices.kept(&key(), &uid(0), now);
    slices.relabelled(&key(), &uid(0), client(), now);
    slices.relabelled(&key(), &uid(0), client(), now + LONGEST_WAIT + Duration::from_secs(1));
    assert_eq!(slices.losses[&key()].count, 0);
}

/// Another client labels the slices of all Services at once.
#[test]
fn the_losses_of_many_services_cost_a_few_looks_each() {
    let (mut slices, now, mut looks) = (Reassignments::default(), Instant::now(), 0);
    for number in 0..10_000 {
        slices.sweep(|_| {
            looks += 1;
            false
        });
        slices.relabelled(&ObjectKey::new("shop", number.to_string()), &uid(0), client(), now);
    }
    assert!((1..20_000).contains(&looks), "{looks}");
}

/// A policy that takes slices when they are updated, and no new ones.
#[test]
fn slices_that_are_lost_by_updates_count_after_their_sync() {
    let (mut slices, now) = (Reassignments::default(), Instant::now());
    for _ in 0..FEW {
        slices.updated(&key(), now);
        assert_eq!(slices.synced(&key(), &[], [].iter(), true, now), []);
    }
    assert_eq!(slices.rest(&key(), now), FIRST_WAIT);
    slices.synced(&key(), &[], [].iter(), true, now);
    assert_eq!(slices.rest(&key(), now), Duration::ZERO, "a sync without a loss: it is over");
}

/// A policy ends, and then a client takes what was created last.
#[test]
fn new_slices_are_young_after_the_end_of_a_policy() {
    let (mut slices, now) = (Reassignments::default(), Instant::now());
    slices.synced(&key(), &[slice(1, &["a"])], [wanted(&["a"])].iter(), false, now);
    slices.kept(&key(), &uid(2), now);
    slices.synced(&key(), &[], [wanted(&["a"])].iter(), true, now);
    slices.relabelled(&key(), &uid(2), client(), now);
    assert_eq!(slices.losses[&key()].count, 1);
}
