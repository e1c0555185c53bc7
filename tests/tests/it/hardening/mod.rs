//! Faults on a real API server: connections that are cut or go dead, clients that take slices, a restored etcd. Each test
//! prints `measured: WHAT: SECONDS`, the figures of docs/operate/reliability.md:
//! `cargo test -p tests --test it hardening -- --nocapture | grep measured`.
//!
//! | Variable | What |
//! |---|---|
//! | `HARDENING_KIND=upstream` | measure kube-controller-manager instead, where a test can |
//! | `HARDENING_PATIENCE` | the time limit of a test in seconds, if it is longer than usual, to measure slow recoveries |
//! | `REPAIRS_…` | see [`repairs`] |

mod dead_peer;
mod etcd_restore;
mod fixture;
mod idle_cut;
mod proxy_environment;
mod repairs;
mod rude_clients;
mod stderr_blocked;
