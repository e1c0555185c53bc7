//! Counts, compared with a definition that looks at all nodes, and holds that depend on nothing but nodes.

use proptest::prelude::*;

use super::*;

const NOW: i64 = 5_000;

fn any_kubelet() -> impl Strategy<Value = Kubelet> {
    let time = || NOW - 1_500..NOW;
    prop_oneof![
        4 => time().prop_map(|since| Kubelet::Lost { since }),
        4 => (time(), 0..1_500_i64).prop_map(|(at, later)| back_and_ready(at, (at + later).min(NOW))),
        1 => Just(READY),
        1 => prop::option::of(time()).prop_map(not_ready),
        1 => (time(), 0..1_500_i64).prop_map(|(at, later)| new(at, (at + later).min(NOW))),
        1 => Just(Kubelet::Unread),
    ]
}

/// The time since which a ready node counts. Long after it was created or came back, its kubelet was restarted.
fn began(kubelet: &Kubelet) -> Option<i64> {
    let Kubelet::Posting { ready_since: Some(since), returned, created } = *kubelet else { return None };
    let exists = returned.or(created).unwrap_or(i64::MIN);
    let is_first = since < exists.saturating_add(2 * WAY_OUT);
    Some(if is_first { since.max(exists) } else { returned.unwrap_or(i64::MIN) })
}

/// The definition: a disruption lasts if the share is lost, and ended with the last return or new ready node before which the share
/// was lost, with the nodes that are lost now.
fn defined(kubelets: &[Kubelet], percent: usize) -> Period {
    let is_share_before = |at: i64| {
        let count = |is: &dyn Fn(&Kubelet) -> bool| kubelets.iter().filter(|kubelet| is(kubelet)).count();
        let lost = count(&|kubelet| match *kubelet {
            Kubelet::Lost { .. } => true,
            Kubelet::Posting { returned, .. } => returned.is_some_and(|returned| returned >= at),
            Kubelet::Unread => false,
        });
        let ready = count(&|kubelet| began(kubelet).is_some_and(|began| began < at));
        lost >= MIN_LOST && lost * 100 >= (lost + ready) * percent
    };
    if is_share_before(NOW + 1) {
        return Period::Ongoing;
    }
    let returned = |kubelet: &Kubelet| match *kubelet {
        Kubelet::Posting { returned, .. } => returned,
        _ => None,
    };
    let times = kubelets.iter().flat_map(|kubelet| [returned(kubelet), began(kubelet)]).flatten();
    let recent = times.filter(|at| *at >= NOW - 2 * WAY_OUT);
    recent.filter(|at| is_share_before(*at)).max().map_or(Period::Calm, |at| Period::Ended { at })
}

proptest! {
    #[test]
    fn the_period_is_the_defined_one(
        kubelets in prop::collection::vec(any_kubelet(), 1..30),
        percent in 50..=100_u32,
    ) {
        let policy = Policy { percent, ..Policy::default() };
        let found = nodes(&kubelets, policy, NOW).scopes().next().map(|state| state.period);
        prop_assert_eq!(found, Some(defined(&kubelets, percent as usize)));
    }

    /// A replica that has followed all changes decides as one that has just started, whatever nodes did before.
    #[test]
    fn the_past_does_not_matter(
        steps in prop::collection::vec((0..8_usize, prop::option::weighted(0.9, any_kubelet())), 1..60),
        marked in NOW - 1_500..NOW,
    ) {
        let mut followed = Nodes::new(Policy::default());
        let mut last = std::collections::BTreeMap::new();
        for (number, kubelet) in steps {
            let name = format!("n{number}");
            if let Some(kubelet) = kubelet {
                let _ = followed.observe(&node(&name, kubelet), NOW);
                last.insert(name, kubelet);
            } else {
                let _ = followed.forget(&name, NOW);
                last.remove(&name);
            }
        }
        let mut fresh = Nodes::new(Policy::default());
        for (name, kubelet) in last.iter().rev() {
            let _ = fresh.observe(&node(name, *kubelet), NOW);
        }
        prop_assert_eq!(followed.scopes().collect::<Vec<_>>(), fresh.scopes().collect::<Vec<_>>());
        for name in last.keys() {
            prop_assert_eq!(followed.hold(name, marked), fresh.hold(name, marked));
        }
    }

    /// Periods are found when nodes change and used later: returns that were looked at then and would not be now matter
    /// no more.
    #[test]
    fn the_time_of_the_last_change_does_not_matter(
        kubelets in prop::collection::vec(any_kubelet(), 1..30),
        marked in NOW - 1_500..NOW,
        later in 0..2_000_i64,
    ) {
        let (then, now) = (nodes(&kubelets, Policy::default(), NOW), nodes(&kubelets, Policy::default(), NOW + later));
        for number in 0..kubelets.len() {
            let name = format!("n{number}");
            let [then, now] = [&then, &now].map(|nodes| nodes.hold(&name, marked).at(NOW + later));
            prop_assert_eq!(then, now);
        }
    }
}
