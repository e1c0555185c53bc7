//! Leader election: of all processes that contend for a Lease, at most one writes.
//!
//! ```text
//!           ┌── Lease held by another ──┐
//!           v                           │
//! run ─> acquire ──────────────> Leader ─> renew every retry period ──┐
//!                                   ^                                 │
//!                                   └──── renewed ────────────────────┤
//!                                                                     ├─ not within the renew deadline ─> LeaseLost
//!                                                                     ├─ another holder in the record ──> LeaseLost
//!                                                                     └─ stop ─> released ──────────────> Ok
//! ```
//!
//! The protocol is client-go's (`tools/leaderelection`), and so is the record in the `coordination.k8s.io/v1` Lease:
//! electors of both kinds may contend for one.
//!
//! * *Clocks.* The times in the record are informational. An elector remembers when, by its own monotonic clock, it
//!   last saw the record change; a record unchanged for its own `leaseDurationSeconds` is free. So wall clocks may be
//!   wrong, as long as monotonic clocks run at similar speed.
//! * *Writes* replace the Lease as it was read; the API server refuses them if it has changed since (resourceVersion).
//! * *Renewals* replace the Lease as last written, without a read. Only if that fails, the Lease is read again (the
//!   slow path). Its metadata is kept. `strategy` and `preferredHolder`, by which the API server assigns a Lease in
//!   coordinated leader election, are dropped by a takeover, as by client-go.
//!
//! # Safety: at most one leader
//!
//! [`Leadership`] is held until the *sending* of the last successful renewal plus the renew deadline, whether or not
//! the elector gets to run: each check compares the time. Other processes saw that renewal after it was sent, and wait
//! for the lease duration, which is longer. The difference (5 s by default) is for requests that the API server has
//! already received. [`ApiClient::with_leadership`](kube_api::ApiClient::with_leadership) refuses writes without
//! leadership, and cancels those in progress when it is lost. Lost leadership is never regained; start again, best as a
//! new process.
//!
//! (client-go gives up to one retry period later, does not stop the writes of its process until then, and goes on for
//! that long even when it reads another holder. As a standby it waits for up to a second less than the lease duration:
//! it compares records as JSON, where `renewTime` has whole seconds, and misses a second renewal within one. Where
//! client-go contends too, the lease duration should exceed the renew deadline by more than a second.)
//!
//! Two cases are not covered. If a machine sleeps with its monotonic clock stopped, or the Lease is deleted or edited
//! by hand, two processes may lead until the next renewal, one retry period at most. And checking the clock and sending
//! are not atomic: a process that is stopped between the two sends one request when it continues. Updates and deletes
//! are then refused because of their outdated resourceVersion.
//!
//! # Holds
//!
//! With [`LeaseLock::with_hold`], an operator keeps all processes from acquiring the Lease, by an annotation of it ([`Hold`]).
//! A record that names no process would do so too, but it expires, and a client that writes it again takes the Lease from a
//! leader. A process that leads renews the Lease also while a hold is in force.
//!
//! # Duration of a change of leaders
//!
//! A standby reads the Lease once or twice in a retry period, and at the moment it expires. So a release is noticed
//! within the retry period (2 s), and a crash within the lease duration plus that (17 s). (client-go waits for 1 to 2.2
//! retry periods.)
//!
//! # Modules
//!
//! `claim` decides, pure; `lock` sends the requests; `elector` is the loop over both; [`Leadership`] is the view of the
//! rest of the process.
//!
//! # What is deliberately absent
//!
//! Coordinated leader election (`LeaseCandidate`), which upstream has off by default, and locks of other kinds, which
//! client-go has dropped.

mod claim;
mod config;
mod elector;
mod events;
mod lock;
mod metrics;

pub use claim::Hold;
pub use config::{Config, ConfigError};
pub use elector::{Elector, LeaseLost};
pub use events::LeaseEvents;
pub use kube_api::Leadership;
pub use lock::{Identity, LeaseLock};
pub use metrics::ElectionMetrics;
