//! A scripted API server: it expects certain requests in a certain order and answers each as the test prescribes,
//! faults included. The same script runs in memory, on a clock that tests can pause, or over a real socket.
#![allow(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "helpers of tests"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

use std::time::Duration;

pub mod balancer;
pub mod candidates;
pub mod clock;
pub mod http2;
pub mod leases;
pub mod loopback;
pub mod mutual_tls;
pub mod pki;
pub mod proxies;
pub mod script;
pub mod wire;

/// The time that a test waits for what must come; a passing test never reaches it, however slow the machine is.
pub const LIMIT: Duration = Duration::from_mins(3);
