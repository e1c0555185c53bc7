//! The history that a seed stands for, as data: the setup, the rates of faults, and the timeline.

use std::fmt::Write as _;

use random_operations::rng::Rng;

use crate::budget;
use crate::denied_slices;
use crate::fault::{Fault, Pin};
use crate::hostile;
use crate::kubelets;
use crate::orphans;
use crate::setup::{rates, setup};
use crate::timeline::timeline;

pub use crate::setup::Setup;
pub use crate::timeline::Entry;

/// A history before it happens.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub seed: u64,
    pub setup: Setup,
    /// Faults of requests and watches, each with its rate in 10,000.
    pub rates: Vec<(Fault, u32)>,
    pub timeline: Vec<Entry>,
    /// Requests and watches do not meet this fault, though it is drawn.
    pub muted: Option<Fault>,
    /// A fault at one request.
    pub pin: Option<Pin>,
    /// The outcomes of steps are kept.
    pub measured: bool,
    /// An audit of the settled objects must find nothing.
    pub audited: bool,
}

impl Plan {
    /// The plan of a seed.
    pub fn of(seed: u64) -> Self {
        Self::draw(seed, false)
    }

    /// The same with a low rate of writes, which a part of the seeds have anyway.
    pub fn with_low_rate(seed: u64) -> Self {
        Self::draw(seed, true)
    }

    fn draw(seed: u64, has_low_rate: bool) -> Self {
        let mut rng = Rng::new(seed ^ 0x5eed_0f51_1ca1_0000);
        let mut setup = setup(&mut rng);
        let calm = rng.percent(5);
        let mut rates = if calm { Vec::new() } else { rates(&mut rng) };
        let mut timeline = timeline(seed, &mut rng, &setup, calm);
        // Last, so that the rest of a seed is the same with either.
        setup.sync_cache_min_pods = rng.percent(50).then_some(1);
        setup.deletes_endpoints = rng.percent(50);
        hostile::add(seed, &mut setup, &mut rates, &mut timeline);
        budget::add(seed, has_low_rate, &mut setup, &mut rates, &mut timeline);
        orphans::add(seed, &setup, &mut timeline);
        denied_slices::replace_faults(seed, &mut setup, &mut rates, &mut timeline);
        Self { seed, setup, rates, timeline, muted: None, pin: None, measured: false, audited: false }
    }

    /// The same with kubelets that are lost instead of other faults.
    #[must_use]
    pub fn with_lost_kubelets(mut self) -> Self {
        kubelets::replace_faults(self.seed, &mut self.setup, &mut self.rates, &mut self.timeline);
        self
    }

    /// The kinds of faults that may happen.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self.rates.iter().map(|(fault, _)| *fault).collect();
        faults.extend(self.timeline.iter().filter_map(|entry| entry.action.fault()));
        faults.extend(self.pin.map(|pin| pin.accident.fault()));
        faults.sort();
        faults.dedup();
        faults
    }

    /// The same without a kind of faults.
    #[must_use]
    pub fn without(mut self, fault: Fault) -> Self {
        self.rates.retain(|(other, _)| *other != fault);
        self.timeline.retain(|entry| entry.action.fault() != Some(fault));
        self
    }

    /// The same without a kind of faults, and with the same fates of all other requests and watches.
    #[must_use]
    pub fn muting(mut self, fault: Fault) -> Self {
        self.timeline.retain(|entry| entry.action.fault() != Some(fault));
        self.muted = Some(fault);
        self
    }

    /// The same with an audit of the settled objects, and without clients that change objects of ours or delegate Services:
    /// what they leave behind is wrong, or the fault of a feature gate.
    #[must_use]
    pub fn audited(self) -> Self {
        // Those of other clients, of operators, and of hostile clients and policies.
        let left_out = Fault::ForeignEdit..=Fault::PolicyReassign;
        let left_out = Fault::ALL.iter().copied().filter(|fault| left_out.contains(fault));
        let plan = left_out.fold(self, Self::without);
        Self { audited: true, ..plan }
    }

    /// The same with these entries of its timeline only.
    #[must_use]
    pub fn only(mut self, numbers: &[usize]) -> Self {
        self.timeline.retain(|entry| numbers.contains(&entry.number));
        self
    }

    /// The time of the last entry.
    pub fn end(&self) -> u64 {
        self.timeline.iter().map(|entry| entry.milliseconds).max().unwrap_or_default()
    }

    /// The plan as a script.
    pub fn script(&self) -> String {
        let mut text = format!("seed {}\n{:?}\n", self.seed, self.setup);
        for (fault, rate) in &self.rates {
            writeln!(text, "rate {fault} {}.{:02} %", rate / 100, rate % 100).unwrap();
        }
        for Entry { number, milliseconds, action } in &self.timeline {
            writeln!(text, "#{number} {}.{:03} s  {action}", milliseconds / 1000, milliseconds % 1000)
                .unwrap();
        }
        text
    }

    /// The command that runs it again with a trace.
    pub fn command(&self) -> String {
        let has_low_rate = self.setup.writes_per_second.is_some();
        let full = Self::draw(self.seed, has_low_rate);
        let has_lost_kubelets = self.faults().contains(&Fault::KubeletLost);
        let full = if has_lost_kubelets { full.with_lost_kubelets() } else { full };
        let mut command = format!("hack/simulate --from {} --seeds 1 --trace", self.seed);
        let left: Vec<Fault> = self.faults();
        let numbers: Vec<usize> = self.timeline.iter().map(|entry| entry.number).collect();
        if full.timeline.len() > numbers.len() {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            write!(
                command,
                " --only {}",
                if numbers.is_empty() { "none".to_owned() } else { numbers.join(",") }
            )
            .unwrap();
        }
        let rated = full.rates.iter().map(|(fault, _)| *fault);
        let gone: Vec<String> = rated.filter(|fault| !left.contains(fault)).map(Fault::name).collect();
        if !gone.is_empty() {
            write!(command, " --without {}", gone.join(",")).unwrap();
        }
        if full.setup != self.setup {
            write!(command, " --replicas {} --fronts {}", self.setup.replicas, self.setup.fronts).unwrap();
        }
        if self.setup.coalescing {
            command += " --coalescing";
        }
        if has_low_rate {
            command += " --low-rate";
        }
        if has_lost_kubelets {
            command += " --kubelets";
        }
        if self.audited {
            command += " --audit";
        }
        command
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_function_of_its_seed_and_every_fault_occurs() {
        assert_eq!(Plan::of(7), Plan::of(7));
        let mut faults: Vec<Fault> = (0..2_000).flat_map(|seed| Plan::of(seed).faults()).collect();
        faults.extend(Plan::of(7).with_lost_kubelets().faults());
        faults.sort();
        faults.dedup();
        assert_eq!(faults, Fault::ALL);
    }
}
