//! A scripted API server: it expects certain requests in a certain order and answers each as the test says, faults
//! included. The same script plays in memory, on a clock that tests can pause, or over a real socket.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy.toml lifts these for test functions, not for their helpers"
)]

pub(crate) mod http2;
pub(crate) mod leases;
pub(crate) mod loopback;
pub(crate) mod mutual_tls;
pub(crate) mod proxies;
pub(crate) mod script;
pub(crate) mod wire;
pub(crate) mod world;
