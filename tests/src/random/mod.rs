//! Random parity: a trace of random operations on Services, pods and nodes runs under upstream and under ours, on a
//! fresh API server each. After every operation both have the same slices, and ours wrote no more; at the end each
//! takes over from the other without a write. `hack/parity` runs any seed.
//!
//! A trace is a list of [operations](random_operations::Operation) as data, a pure function of its seed. What may differ
//! between two runs of upstream itself is in [`view`]. The generator avoids or assists these cases, because upstream leaves them to
//! chance or gets them wrong:
//!
//! | What | Upstream | Here |
//! |---|---|---|
//! | a node comes, goes, or changes its zone | does not look at endpoints until something else happens to the Service, or a retry comes | all Services are touched afterwards |
//! | a pod is bound, or only its phase or the time of its readiness changes | does not sync until another change requires it | all Services are touched afterwards |
//! | a user changes the Endpoints of a Service with a selector | repairs them only when something else happens | the same |
//! | a pod on a missing node | 16 attempts with growing delays, then none until something happens | every change of nodes is followed by a touch, so that it does not matter whether a retry came first |
//! | a Service is deleted and created again before the deletion was synced | its view of the slices is stale until a restart (kubernetes#141592) | a deletion is always waited for |
//! | changes overlap (`--overlap`) | a sync may find its own last write not yet in the cache, and is retried only after the back-off of all failures so far, minutes after a pod on a missing node | when something differs, all Services are touched under upstream; ours has to converge without a touch |
//! | a slice loses `managed-by` or `service-name` | the Service is stale until a restart | slices are not edited |
//! | a serving pod is deleted at once | may or may not observe it terminating first: one write or two | a pod terminates before it goes, unless no slice has it |
//! | hints spread over zones (`topology-mode: Auto`) | ties between zones, and which endpoint moves, are chance | the hints of such Services are not compared |
//! | the same | a slice whose hints cannot be given (a zone is missing) is written again at every sync, and loses its trigger time | the trigger times of Services that ever were such are not compared; ours writes less |
//! | a headless Service becomes one with a cluster IP, or the other way round, by way of `ExternalName` | a slice that is filled up, or written for its hints only, keeps the label that says whether it is headless | ours sets the label whenever it writes; it is not compared for Services that were `ExternalName` |
//! | a start with hints spread over zones | the first sync may come before the nodes, and removes the hints | writes of a take-over for such Services do not count |
//! | the same | may give a zone more hints than it allows itself, and then writes the same slices at every sync | writes of ours after a take-over count for Services that upstream, asked again, leaves alone |
//! | a Service carries a label that controllers keep for themselves | its Endpoints, or what is mirrored from them, are written at every sync, and lose their trigger time | ours writes when something changes; these times are not compared, and upstream's writes after a take-over don't count |
//! | mirrored slices of both families are made from others | often asks for one that exists, and retries after ever longer delays | when something differs, upstream's are deleted, so that it starts again |
//! | mirrored slices | the choice of the old slice that is reused for a new one is chance | `generateName`, which stays only then, is not compared |
//! | a pod ends | dates the change by the Ready condition with which it ends | so does ours if it requests all pods; else trigger times are not compared once a pod has ended |
//! | an admission policy annotates slices | mirrored slices are written again at each sync | so they are by ours; their writes are not counted |
//! | another client deletes all slices of a Service | a deletion that it sees before it has recorded its own create makes the Service stale until a restart | it comes when all is written; endpoints are compared, and not trigger times and writes |
//! | several slices in a group | which endpoint is in which slice is chance | see [`view`] |
#![allow(missing_docs, reason = "operations say by their names what they do")]

mod apply;
mod disturbance;
mod help;
mod options;
mod report;
mod run;
pub mod view;

pub use apply::operation;
pub(crate) use apply::{apply, touch, unless_missing};
pub(crate) use help::{Help, PATIENCE};
pub use options::Options;
pub use report::Report;
pub use run::run;

/// The seeds of a text such as `1 5 7..12`.
///
/// # Panics
/// If a word is neither a number nor a range.
pub fn seeds(text: &str) -> Vec<u64> {
    let number = |text: &str| -> u64 { text.parse().unwrap_or_else(|_| panic!("not a seed: {text:?}")) };
    let range = |part: &str| match part.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => number(part)..number(part) + 1,
    };
    text.split_whitespace().flat_map(range).collect()
}

/// The default of the option for topology-aware hints.
pub const TOPOLOGY: bool = true;
