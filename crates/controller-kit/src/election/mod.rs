//! Leader election: of all processes that contend for a Lease, at most one writes.
//!
//! ```text
//!           ┌── Lease held by another ──┐
//!           v                           │
//! run ─> acquire ──────────────> Leader ─> renew every retry period ──┐
//!                                   ^                                 │
//!                                   └──── renewed ────────────────────┤
//!                                                                     ├─ not within the renew deadline ─> LeaseLost
//!                                                                     ├─ somebody else's name in it ────> LeaseLost
//!                                                                     └─ stop ─> released ──────────────> Ok
//! ```
//!
//! The protocol is client-go's (`tools/leaderelection`), and so is the record in the `coordination.k8s.io/v1` Lease:
//! electors of both kinds may contend for one.
//!
//! * *Clocks.* The times in the record are for people. An elector remembers when, by its own monotonic clock, it last
//!   saw the record change; a record that has not changed for its own `leaseDurationSeconds` is free. So clocks may
//!   be wrong, as long as they don't run at very different speeds.
//! * *Writes* replace the Lease as it was read; the API server refuses them if it has changed since (resourceVersion).
//! * *Renewing* replaces the Lease as it was last written, without reading it. Only if that fails it is read again (the
//!   slow path). Everything in its metadata is kept. `strategy` and `preferredHolder`, by which the API server assigns
//!   a Lease to somebody, are dropped by whoever takes it without being asked, as by client-go.
//!
//! # Why there are never two
//!
//! [`Leadership`] is held until the *sending* of the last successful renewal plus the renew deadline, and no longer,
//! whether or not the elector gets to run: whoever asks compares the time. Others saw that renewal after it was sent,
//! and wait for the lease duration, which is longer. The difference (5 s by default) is for requests that the API
//! server has already received. [`ApiClient::with_leadership`](kube_api::ApiClient::with_leadership) refuses writes
//! without leadership, and abandons those under way when it is lost. Leadership that was lost doesn't come back; start
//! again, best as a new process.
//!
//! (client-go gives up as much as one retry period later, does not stop what its process writes until then, and goes
//! on for that long even when it reads somebody else's name. As a standby it waits for up to a second less than the lease
//! duration: it compares records as JSON, where `renewTime` has whole seconds, and doesn't see a second renewal within
//! one. Where it contends too, the lease duration should exceed the renew deadline by more than a second.)
//!
//! What this can't see is a machine that sleeps with its monotonic clock stopped, or a Lease that somebody deletes or
//! edits by hand: until the next renewal, one retry period at most, two may lead. And nobody can look at the clock and
//! send in one: a process that is stopped exactly between the two sends one request when it goes on. Updates and deletes
//! are then refused, for what they say they know of the object is outdated.
//!
//! # How long a change of leaders takes
//!
//! A standby reads the Lease once or twice in a retry period, and at the very moment it expires. So a release is noticed
//! within the retry period (2 s), and a crash within that and the lease duration (17 s). (client-go waits for 1 to 2.2
//! retry periods.)
//!
//! # Inside
//!
//! `claim` decides, pure; `lock` is the requests; `elector` is the loop over both; [`Leadership`] is what the rest of
//! the process sees.
//!
//! # What is deliberately absent
//!
//! Coordinated leader election (`LeaseCandidate`), which upstream has off by default, and locks of other kinds, which
//! client-go has dropped.

mod claim;
mod config;
mod elector;
mod lock;
mod metrics;

pub use config::{Config, ConfigError};
pub use elector::{Elector, LeaseLost};
pub use kube_api::Leadership;
pub use lock::{Identity, LeaseLock};
pub use metrics::ElectionMetrics;
