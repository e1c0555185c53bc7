//! Scenarios on real API servers, in one test binary: it is linked once, and its suites run side by side.
//!
//! | Suite | Rule |
//! |---|---|
//! | [`parity`], [`random_parity`], [`takeover`], [`takeover_gate`] | the writes are those of upstream, and never more |
//! | [`delegation`] | one gate and its label, beyond what parity shows |
//! | [`metrics`], [`metric_names`], [`serving`] | pages of the server, compared with upstream's |
//! | [`binary`], [`identity`] | the program from outside, and its requests to the API server |
//! | [`service_states`] | the page about Services that fail |
//! | [`upstream_e2e`] | upstream's own end-to-end tests of the controllers |
//! | [`two_writers`] | upstream and ours on the same objects converge |
//! | [`election`] | one replica writes, never two |
//! | [`disruption`] | endpoints stay while kubelets are lost, with the feature gate for it |
//! | [`hardening`] | faults on real servers, and the time to recover from them |
//! | [`simulate`] | what it prints about config/samples is what upstream writes |
//! | [`readers`] | `audit`, `explain` and `shadow` under random operations: nothing wrong about what upstream wrote |
//! | [`explain`] | it needs few permissions, and is a plugin of kubectl |
//! | [`audit`] | dead DNS servers are named; repairs touch only objects of the controllers |
//! | [`preflight`] | planted faults are found, and nothing is written but access reviews |
//! | [`shadow`] | each planted difference is named |
//! | [`kubectl`] | the embedded API server answers kubectl as the real one |
//! | [`handover`] | `handover` and `rollback` change the writer, with one writer at most and no write |
//! | [`documented_commands`] | programs know the flags in documents, the chart knows the values, files exist |
//! | [`deploy`] | manifests, and the permissions in them |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helper functions too"
)]

mod audit;
mod binary;
mod conformance;
mod delegation;
mod deploy;
mod disruption;
mod documented_commands;
mod election;
mod explain;
mod handover;
mod hardening;
mod identity;
mod kubectl;
mod metric_names;
mod metrics;
mod parity;
mod pod_networks;
mod preflight;
mod random_parity;
mod readers;
mod service_states;
mod serving;
mod shadow;
mod simulate;
mod takeover;
mod takeover_gate;
mod two_writers;
mod upstream_e2e;
