//! Whole partitions, second by second: what the node lifecycle controller, kubelets and a controller of endpoints would do.

use proptest::prelude::*;

use super::*;

/// One node in a partition, with one pod. Times are in seconds.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Its kubelet is lost.
    lost: i64,
    /// The pod is marked this long after that.
    marked: i64,
    /// The kubelet is back, if it comes back.
    back: Option<i64>,
    /// It calls the node not ready for this long after that.
    not_ready: i64,
    /// It reports on the pod this long after it is back.
    reported: i64,
    /// The time before `back` at which the kubelet posts for a moment, and for how many seconds; it reports on no pod.
    blip: Option<(i64, i64)>,
}

impl Cut {
    fn kubelet(&self, now: i64) -> Kubelet {
        match self.back {
            Some(at) if at + self.not_ready <= now => back_and_ready(at, at + self.not_ready),
            Some(at) if at <= now => super::not_ready(Some(at)),
            _ => match self.blip {
                Some((at, seconds)) if at + seconds <= now => lost(at + seconds),
                Some((at, _)) if at <= now => back(at),
                _ if self.lost <= now => lost(self.lost),
                _ => READY,
            },
        }
    }

    /// The time of the mark, while the pod has it.
    fn mark(&self, now: i64) -> Option<i64> {
        let marked = self.lost + self.marked;
        let reported = self.back.is_some_and(|back| back + self.reported <= now);
        (marked <= now && !reported).then_some(marked)
    }
}

/// All nodes are lost within 40 s, may post once for a moment, and come back one by one in any order, or never.
fn any_partition() -> impl Strategy<Value = Vec<Cut>> {
    let back = prop_oneof![9 => (200..900_i64).prop_map(Some), 1 => Just(None)];
    let blip = prop::option::weighted(0.5, (171..190_i64, 1..9_i64));
    let not_ready = prop_oneof![4 => Just(0), 4 => 1..40_i64, 1 => 1..900_i64];
    let cut = (100..140_i64, 0..30_i64, back, not_ready, 0..30_i64, blip);
    let cut = cut.prop_map(|(lost, marked, back, not_ready, reported, blip)| Cut {
        lost,
        marked,
        back,
        not_ready,
        reported,
        blip,
    });
    prop::collection::vec(cut, 3..25)
}

fn at(cuts: &[Cut], policy: Policy, now: i64) -> Nodes {
    nodes(&cuts.iter().map(|cut| cut.kubelet(now)).collect::<Vec<_>>(), policy, now)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// From the beginning of a disruption until its kubelet reports, a pod counts as ready without interruption, unless the
    /// node stays away for longer than the way out; and then it is withdrawn, once.
    #[test]
    fn nobody_flaps_when_nodes_come_back_one_by_one(cuts in any_partition()) {
        let mut ended = None;
        let mut withdrawn = vec![false; cuts.len()];
        for now in (170..2_200).step_by(3) {
            let found = at(&cuts, Policy::default(), now);
            let period = found.scopes().next().map(|state| state.period);
            ended = match period {
                Some(Period::Ongoing) => None,
                Some(Period::Ended { at }) => ended.filter(|_| now >= 200).or(Some(at)),
                _ => ended,
            };
            for (number, cut) in cuts.iter().enumerate() {
                let Some(marked) = cut.mark(now) else { continue };
                let ready = found.hold(&format!("n{number}"), marked).at(now);
                let stayed_away = ended.is_some_and(|ended: i64| {
                    now >= ended + WAY_OUT && cut.back.is_none_or(|back| back >= ended + WAY_OUT)
                });
                prop_assert_eq!(ready, !stayed_away, "n{} at {}", number, now);
                withdrawn[number] |= !ready;
            }
        }
        let never_back = cuts.iter().zip(&withdrawn).filter(|(cut, _)| cut.back.is_none());
        if ended.is_some() {
            prop_assert!(never_back.into_iter().all(|(_, withdrawn)| *withdrawn));
        }
    }

    /// Until the share is lost, everything is as it is marked.
    #[test]
    fn fewer_nodes_than_the_share_are_dead_nodes(
        dead in prop::collection::vec((100..5_000_i64, 0..30_i64), 1..17),
    ) {
        let cuts = dead.iter().map(|(lost, marked)| Cut { lost: *lost, marked: *marked, back: None, not_ready: 0, reported: 0, blip: None });
        let alive = Cut { lost: i64::MAX, marked: 0, back: None, not_ready: 0, reported: 0, blip: None };
        let cuts: Vec<Cut> = cuts.chain(std::iter::repeat_n(alive, 3)).collect();
        for now in (90..5_200).step_by(10) {
            let found = at(&cuts, Policy::default(), now);
            for (number, cut) in cuts.iter().enumerate().take(dead.len()) {
                if let Some(marked) = cut.mark(now) {
                    prop_assert_eq!(found.hold(&format!("n{number}"), marked), Hold::No);
                }
            }
        }
    }

    /// With an end, no pod of a lost node is kept beyond it.
    #[test]
    fn the_end_bounds_what_a_lost_node_keeps(cuts in any_partition(), end in 60..400_i64) {
        let policy = Policy { end: Some(end), ..Policy::default() };
        for now in (170..1_200).step_by(5) {
            let found = at(&cuts, policy, now);
            for (number, cut) in cuts.iter().enumerate() {
                if let (Kubelet::Lost { .. }, Some(marked)) = (cut.kubelet(now), cut.mark(now)) {
                    let ready = found.hold(&format!("n{number}"), marked).at(now);
                    prop_assert!(!ready || now < marked + end);
                }
            }
        }
    }
}
