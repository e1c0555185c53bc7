//! One of several replicas works, on a real API server: whatever ends the leader, two never write, and the next one
//! takes over as soon as the Lease allows it. Replicas of upstream may be among them.
//!
//! `cargo test -p tests --test it election -- --nocapture` prints the time of each change of leaders.

mod breaches;
mod endings;
mod fixture;
mod replicas;
mod terms;
mod upstream;

pub(crate) use fixture::{SHORT, short};
