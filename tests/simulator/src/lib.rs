//! Deterministic simulation of the whole program: histories of a cluster with faults, on virtual time.
//!
//! A history is a function of its seed. Replicas of `endpoint-controller-manager`, as shipped, run on one thread and one
//! paused clock, on the embedded API server, and an oracle checks every write and the state at the end:
//!
//! ```text
//! seed ─> plan (setup, rates, timeline) ─> history ─> outcome ─> shrink ─> report
//!                                             │
//!   replica 0 ─ connection ─┐                 ├ actions: workload, faults of the cluster, of replicas, other clients
//!   replica 1 ─ connection ─┼─ fronts ─ store ┘
//!                 │                      │
//!               faults of requests     oracle
//!               and watches
//! ```
//!
//! | Module | One line |
//! |---|---|
//! | [`fault`] | the kinds of faults, and how often they happened |
//! | [`plan`] | what a seed stands for, as data |
//! | [`action`] | one entry of a timeline |
//! | [`world`] | the API server, its fronts, the faults in force, the trace |
//! | [`decode`] | objects and resources of requests |
//! | [`dice`] | random numbers, by what they are for |
//! | [`fate`] | what happens to a request or a watch |
//! | [`clocks`] | the clocks of a replica's machine |
//! | [`connection`] | the connections of a replica, with faults of requests |
//! | [`last_activity`] | when a connection last carried data |
//! | [`stream`] | bodies of watches: lag, cuts, silence |
//! | [`host`] | the environment of a process: clocks, crash, freeze |
//! | [`replica`] | processes: start and restart |
//! | [`apply`] | actions on the cluster |
//! | [`clients`] | other clients that change our objects |
//! | [`policy`] | admission policies |
//! | [`kubelets`] | kubelets that lose the API server |
//! | `denied_slices` | the seeds in which admission denies writes of some slices |
//! | `hostile` | the seeds with such clients and policies |
//! | `orphans` | clients that set Endpoints before and after the deletion of their Service |
//! | [`mod@audit`] | the audit of settled objects |
//! | [`oracle`] | what must hold at each write, and in the end |
//! | [`history`] | one history from start to end |
//! | [`steps`] | the outcome of each step, and the faults that change it |
//! | [`mattered`] | the faults that change an outcome |
//! | [`exhaustive`] | short scenarios with every crash, lost answer and order of events |
//! | [`scenarios`] | these scenarios |
//! | [`shrink`] | a failing history made short |
//! | [`run`] | many histories on several threads |
//!
//! The seams of the program are its connections (`endpoint_controller_manager::process`), its tasks and wall clock
//! (`controller_kit::environment`), and the clock of tokio. Nothing else differs from what ships.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::needless_for_each,
    clippy::too_many_lines,
    clippy::match_same_arms,
    reason = "a test harness is never shipped: it fails by panicking"
)]

pub mod action;
pub mod apply;
pub mod audit;
mod budget;
pub mod clients;
pub mod clocks;
pub mod connection;
pub mod decode;
mod denied_slices;
pub mod dice;
pub mod exhaustive;
pub mod fate;
pub mod fault;
pub mod history;
pub mod host;
mod hostile;
pub mod kubelets;
pub mod last_activity;
pub mod mattered;
pub mod oracle;
mod orphans;
pub mod plan;
pub mod policy;
pub mod replica;
pub mod run;
pub mod scenarios;
pub mod setup;
pub mod shrink;
pub mod steps;
pub mod stream;
pub mod timeline;
pub mod world;
