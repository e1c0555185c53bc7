//! `shadow`: the controllers, which only compare, alongside those of kube-controller-manager.
//!
//! ```text
//! informers ─> cache ─> handlers ─> queues ─> policy ─> pending writes ─> Differences ─> log, metrics, report
//!                 └──── changes of slices and Endpoints ──^
//! ```
//!
//! Informers, handlers and queues are those of the program. In place of each sync, its policy asks for the writes that the sync
//! would make: none if the cluster is as this program would have it. Differences that outlast the grace period are named.
//! Nothing is written: no policy ever allows a sync, there is no election, and the clients refuse to send writes.

mod comparison;
mod comparisons;
mod differences;
mod found;
mod metrics;
mod report;

pub(crate) use comparisons::Shadow;
#[cfg(test)]
pub(crate) use metrics::tests::page as metrics_page;
pub(crate) use report::Report;
