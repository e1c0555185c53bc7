//! The origin of the reports.

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::ServiceReport;

use crate::board::Board;

/// Keeps a board up to date, and reports on single Services.
pub trait Source: Send + Sync + 'static {
    /// The board of this source.
    fn board(&self) -> &Board;

    /// The report on a Service as of now; none if there is no such Service.
    fn report(&self, key: &ObjectKey) -> Option<ServiceReport>;
}
