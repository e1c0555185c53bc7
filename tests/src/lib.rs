//! Test harness: a real Kubernetes API server, the controllers of upstream or ours alongside it, and the means to compare
//! their results.
//!
//! | Module | One line |
//! |---|---|
//! | [`binaries`] | paths of the programs; builds the servers if they are missing |
//! | [`process`] | child processes that never outlive the test |
//! | [`dialogue`] | a program whose output is read line by line while it runs |
//! | [`dns`] | CoreDNS, and what a name resolves to |
//! | [`kube_proxy`] | kube-proxy in a network namespace |
//! | [`cluster`] | etcd and kube-apiserver on loopback ports in a temporary folder |
//! | [`conformance`] | random requests to two API servers, whose answers must be equal |
//! | [`kubelets`] | stand-ins for kubelets alongside upstream's node lifecycle controller |
//! | [`manager`] | kube-controller-manager or ours, run against a cluster as one of its users |
//! | [`pages`] | requests to a manager's own HTTPS server |
//! | [`requests`] | requests with JSON to an API server |
//! | [`metrics`] | a strict parser of a manager's metrics |
//! | [`audit`] | requests and their users, from the API server's audit log |
//! | [`scenario`] | a cluster's workload as a script: pods become ready, Services change |
//! | [`barrier`] | waits until the controllers have handled all earlier changes, without sleeping |
//! | [`tool`] | a command of `kubectl-endpoints` that ends by itself |
//! | [`variables`] | variables of the environment that set what a test does |
//! | [`workload`] | the scripted workload of the parity tests |
//! | [`canonical`] | EndpointSlices without the parts that may differ between two runs |
//! | [`observe`] | follows EndpointSlices by a watch |
//! | [`program`] | what the demo and the benchmark share as programs |
//! | `plant` | faults planted in single tests, to show what their failures say |
//! | [`policies`] | an admission policy that annotates slices |
//! | [`parity`] | runs the workload under a manager and records slices and writes of every phase |
//! | `release` | what older Kubernetes releases do in another way |
//! | [`simulate`] | dumps of a cluster, and what `simulate --diff` says about them |
//! | [`settled`] | random clusters that upstream settled, for checks of programs that only read |
//! | [`shadow`] | `shadow` alongside a manager, with the permissions of deploy/shadow; random operations under it |
//! | [`random`] | random operations instead of the workload, compared operation by operation |
//!
//! Everything waits on conditions with a limit (see [`wait`]) and panics with the reason, the last thing seen
//! and the tail of the log that explains it. Only loopback addresses are used.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test harness is never shipped: it fails a test by panicking"
)]
#![cfg_attr(
    not(feature = "suites"),
    allow(
        dead_code,
        reason = "hack/demo compiles only what its program needs, whose other users are left out"
    )
)]

pub mod audit;
pub mod barrier;
pub mod binaries;
#[cfg(feature = "suites")]
pub mod canonical;
pub mod cluster;
#[cfg(feature = "suites")]
pub mod conformance;
#[cfg(feature = "suites")]
pub mod dialogue;
#[cfg(feature = "suites")]
pub mod dns;
#[cfg(feature = "suites")]
pub mod kube_proxy;
#[cfg(feature = "suites")]
pub mod kubelets;
pub mod manager;
pub mod metrics;
pub mod observe;
pub mod pages;
#[cfg(feature = "suites")]
pub mod parity;
#[cfg(feature = "suites")]
pub mod policies;
pub mod ports;
pub mod process;
pub mod program;
#[cfg(feature = "suites")]
pub mod random;
pub mod requests;
#[cfg(feature = "suites")]
pub mod scenario;
#[cfg(feature = "suites")]
pub mod settled;
#[cfg(feature = "suites")]
pub mod shadow;
#[cfg(feature = "suites")]
pub mod simulate;
#[cfg(feature = "suites")]
pub mod tool;
#[cfg(feature = "suites")]
pub mod variables;
pub mod wait;
#[cfg(feature = "suites")]
pub mod workload;

mod credentials;
mod plant;
mod release;
