//! The field management of a kind.

use crate::core::Entry;
use crate::managed_fields::{FieldManager, reset_fields};
use crate::schema::Type;

/// The field manager of a kind or of a subresource of it.
pub(crate) fn manager(entry: &'static Entry, subresource: &'static str) -> FieldManager<'static> {
    FieldManager {
        of: entry.type_,
        api_version: &entry.api_version,
        subresource,
        reset: reset_fields(entry.kind.group, entry.kind.plural, subresource),
    }
}

/// The field manager of a kind that is answered and not stored.
pub(crate) fn of_other<'a>(
    of: &'static Type,
    api_version: &'a str,
    subresource: &'a str,
) -> FieldManager<'a> {
    FieldManager { of, api_version, subresource, reset: &[] }
}
