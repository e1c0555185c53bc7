use std::net::IpAddr;

use proptest::prelude::*;

use crate::environment::SystemEnvironment;

use super::*;

fn small() -> Arc<Allocators> {
    let services = [("10.0.0.0", 29), ("fd00::", 125)];
    let services = services.map(|(address, prefix)| Network { address: ip(address), prefix });
    Arc::new(Allocators::new(Ranges { services, node_ports: 30000..=30003 }))
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn hosts_are_allocated_until_none_is_left() {
    let environment = SystemEnvironment::seeded(1);
    for (index, count) in [(0, 6), (1, 7)] {
        let allocators = small();
        let network = allocators.services()[index];
        let mut reservation = allocators.begin(false);
        let mut taken: Vec<_> =
            (0..count).map(|_| reservation.next_ip(network, &environment).unwrap()).collect();
        assert_eq!(reservation.next_ip(network, &environment), None);
        taken.sort();
        taken.dedup();
        assert_eq!(taken.len(), count);
        assert!(taken.iter().all(|ip| network.contains(*ip) && *ip != network.first()));
    }
}

#[test]
fn high_addresses_come_first() {
    let environment = SystemEnvironment::seeded(7);
    let allocators = Arc::new(Allocators::new(Ranges::default()));
    let mut reservation = allocators.begin(false);
    let network = allocators.services()[0];
    for _ in 0..100 {
        // The first 256 are left to those who ask for them.
        assert!(reservation.next_ip(network, &environment).unwrap() >= ip("10.96.1.1"));
    }
}

#[test]
fn only_hosts_can_be_requested() {
    let reservation = small().begin(false);
    for outside in ["10.0.0.0", "10.0.0.7", "10.0.0.8", "fd00::", "fd00::8"] {
        assert!(reservation.check_range(ip(outside)).is_err(), "{outside}");
    }
    for inside in ["10.0.0.1", "10.0.0.6", "fd00::1", "fd00::7"] {
        assert_eq!(reservation.check_range(ip(inside)), Ok(()), "{inside}");
    }
}

#[test]
fn a_dry_run_looks_and_takes_nothing() {
    let environment = SystemEnvironment::seeded(1);
    let allocators = small();
    let mut real = allocators.begin(false);
    real.take_port(30001).unwrap();
    real.commit();
    let mut dry = allocators.begin(true);
    assert_eq!(dry.next_ip(allocators.services()[0], &environment), Some(ip("10.0.0.0")));
    dry.take_port(30001).unwrap_err();
    dry.take_port(30002).unwrap();
    dry.take_port(30002).unwrap_err();
    dry.commit();
    let mut later = allocators.begin(false);
    later.take_port(30002).unwrap();
    let mut dry = allocators.begin(true);
    assert_eq!(dry.next_port(&environment), Some(32769));
    assert_eq!(dry.next_port(&environment), Some(32770));
}

proptest! {
    /// The values in use are exactly those that committed reservations took and did not free.
    #[test]
    fn nothing_leaks(steps in prop::collection::vec((any::<bool>(), 0..4_i64, prop::option::of(0..4_u16)), 0..40)) {
        let allocators = small();
        let mut model = std::collections::BTreeSet::new();
        for (commits, port, freed) in steps {
            let mut reservation = allocators.begin(false);
            let number = 30000 + u16::try_from(port).unwrap();
            let is_taken = reservation.take_port(i64::from(number)).is_ok();
            prop_assert_eq!(is_taken, !model.contains(&number));
            // A write frees what its object had, which it did not take itself.
            let freed = freed.map(|port| 30000 + port).filter(|freed| *freed != number);
            if let Some(freed) = freed {
                reservation.free(Claim::Port(freed));
            }
            if commits {
                reservation.commit();
                if is_taken {
                    model.insert(number);
                }
                if let Some(freed) = freed {
                    model.remove(&freed);
                }
            }
        }
        let taken: std::collections::BTreeSet<u16> = allocators.taken.lock().iter().map(|claim| match claim {
            Claim::Port(port) => *port,
            Claim::Ip(_) => 0,
        }).collect();
        prop_assert_eq!(taken, model);
    }
}
