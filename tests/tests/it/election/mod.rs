//! Of several replicas one works, on a real API server: whatever ends the one that does, two never write, and the
//! next one takes over as soon as the Lease allows it. Upstream's replicas may be among them.
//!
//! `cargo test -p tests --test it election -- --nocapture` prints how long each change of leaders took.

mod breaches;
mod endings;
mod fixture;
mod outage;
mod replicas;
mod terms;
mod upstream;
