//! The options of a run.

use std::fmt::Write as _;

use random_operations::{Generator, Step};

use crate::manager::{Controller, Kind};

/// A trace and the conditions of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Names the trace.
    pub seed: u64,
    /// Its length.
    pub operations: usize,
    /// `--max-endpoints-per-slice`; derived from the seed if `None`.
    pub max: Option<u32>,
    /// Operations between two barriers. With 1, everything that upstream determines is compared, including the number
    /// of writes. With more, changes overlap, and only endpoints are compared.
    pub overlap: usize,
    /// Allows topology-aware hints for Services.
    pub topology: bool,
    /// The controllers that run. With the mirroring controller, there are custom Endpoints.
    pub controllers: &'static [Controller],
    /// Ours requests only pods that may be endpoints; derived from the seed if `None`. From the end of the first pod on,
    /// trigger times are then not compared.
    pub pod_field_selector: Option<bool>,
    /// An admission policy annotates slices on both sides; derived from the seed if `None`. Mirrored slices are then written at
    /// each sync, without a change: their writes are not compared.
    pub policy: Option<bool>,
    /// The program compared with upstream: ours, or upstream itself, which shows what is left to chance.
    pub candidate: Kind,
}

impl Options {
    /// The usual run of a seed.
    pub fn new(seed: u64, operations: usize) -> Self {
        Self {
            seed,
            operations,
            max: None,
            overlap: 1,
            topology: super::TOPOLOGY,
            controllers: Controller::ALL,
            pod_field_selector: None,
            policy: None,
            candidate: Kind::Ours,
        }
    }

    /// The steps.
    pub fn trace(&self) -> Vec<Step> {
        let custom_endpoints = self.controllers.contains(&Controller::EndpointSliceMirroring);
        let ends_are_seen = !self.pod_field_selector();
        let mut generator = Generator::new(self.seed, self.topology, custom_endpoints, ends_are_seen);
        (0..self.operations).map(|_| generator.step()).collect()
    }

    /// The maximum of endpoints per slice. Odd seeds run with slices so small that Services need several of them; with
    /// even seeds every group of endpoints fits into one, so that every write is determined.
    pub fn max(&self) -> u32 {
        self.max.unwrap_or(if self.seed.is_multiple_of(2) { 100 } else { 5 })
    }

    /// True if ours requests only pods that may be endpoints, as it does by default. Two of four seeds request all, one
    /// with small slices and one with large ones.
    pub fn pod_field_selector(&self) -> bool {
        self.pod_field_selector.unwrap_or(matches!(self.seed % 4, 0 | 3))
    }

    /// True if slices are annotated on their way into the store: in one of four seeds.
    pub fn policy(&self) -> bool {
        self.policy.unwrap_or(self.seed % 4 == 1)
    }

    /// The flags of ours that upstream does not have.
    pub(crate) fn own_flags(&self) -> Vec<String> {
        match self.candidate {
            Kind::Ours => vec![format!("--enable-pod-field-selector={}", self.pod_field_selector())],
            Kind::Upstream => Vec::new(),
        }
    }

    /// The command that runs it again.
    pub fn command(&self) -> String {
        let mut command = format!("hack/parity --operations {}", self.operations);
        if let Some(max) = self.max {
            write!(command, " --max {max}").unwrap();
        }
        if self.overlap > 1 {
            write!(command, " --overlap {}", self.overlap).unwrap();
        }
        if self.topology != super::TOPOLOGY {
            command.push_str(if self.topology { " --topology" } else { " --no-topology" });
        }
        if let Some(selected) = self.pod_field_selector {
            command.push_str(if selected { " --pod-field-selector" } else { " --no-pod-field-selector" });
        }
        if let Some(policy) = self.policy {
            command.push_str(if policy { " --policy" } else { " --no-policy" });
        }
        if self.controllers != Controller::ALL {
            write!(command, " --controllers {}", Controller::list(self.controllers)).unwrap();
        }
        if self.candidate == Kind::Upstream {
            command.push_str(" --self");
        }
        write!(command, " {}", self.seed).unwrap();
        command
    }
}
