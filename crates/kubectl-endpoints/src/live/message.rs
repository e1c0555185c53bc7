//! Messages of watches.

use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics_page::follow::Change;

/// A message of a watch.
#[derive(Debug)]
pub(crate) enum Message {
    Changed(Change),
    /// The watch is open.
    Live(Kind),
    /// The watch can't be opened, or broke, for this reason.
    Failed(Kind, String),
}
