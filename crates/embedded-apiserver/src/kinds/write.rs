//! The checks before a write: `rest.BeforeCreate` and `rest.BeforeUpdate` with what the registry does around them.

use serde_json::Value;

use crate::status::Status;

use super::allocation::Reservation;
use super::content;
use super::field::Errors;
use super::metadata;
use super::strategy::Scope;
use super::tree;

/// An object that may be written. Dropping it gives back what it allocated.
#[must_use]
pub(crate) struct Prepared(Reservation);

impl Prepared {
    /// Keeps what was allocated and releases what is no longer used: the object is written. A dry run does nothing.
    pub(crate) fn commit(self) {
        self.0.commit();
    }
}

/// Admits, fills and checks a new object. The decoded object must be defaulted. On a conflict of a
/// generated name the caller tries again with a copy of the object as it was, up to 8 times in all, as upstream does.
///
/// Cost: one pass over the object.
pub(crate) fn before_create(scope: &Scope<'_>, object: &mut Value) -> Result<Prepared, Status> {
    metadata::wipe(object);
    let strategy = scope.kind.strategy;
    metadata::fit_namespace(scope.kind, scope.namespace, object)?;
    strategy.admit(scope, object, None);
    metadata::fill(scope, object);
    // A PUT of the status creates too where PUTs create, and allocates nothing.
    let reservation = if scope.subresource.is_empty() {
        strategy.begin(scope, object, None)?
    } else {
        Reservation::default()
    };
    strategy.prepare_for_create(scope, object);
    let mut errors = Errors::default();
    strategy.validate(scope, object, &mut errors);
    if errors.is_empty() {
        metadata::validate(object, scope.kind.namespaced, content::path_segment, &mut errors);
    }
    if !errors.is_empty() {
        return Err(refusal(scope, object, errors));
    }
    strategy.canonicalize(object);
    Ok(Prepared(reservation))
}

/// Admits, completes and checks a changed object. The decoded object must be defaulted, and the
/// caller has compared the resourceVersions, and has filled in the stored one if the object has none and the kind allows
/// it.
///
/// Cost: one pass over the objects.
pub(crate) fn before_update(scope: &Scope<'_>, object: &mut Value, old: &Value) -> Result<Prepared, Status> {
    let strategy = scope.kind.strategy;
    strategy.admit(scope, object, Some(old));
    let reservation = if scope.subresource.is_empty() {
        strategy.begin(scope, object, Some(old))?
    } else {
        Reservation::default()
    };
    metadata::fit_namespace(scope.kind, scope.namespace, object)?;
    metadata::set_generation(object, metadata::generation(old));
    strategy.prepare_for_update(scope, object, old);
    metadata::restore(scope, object, old);
    let mut errors = Errors::default();
    metadata::validate(object, scope.kind.namespaced, content::path_segment, &mut errors);
    metadata::validate_update(object, old, &mut errors);
    strategy.validate_update(scope, object, old, &mut errors);
    if !errors.is_empty() {
        return Err(refusal(scope, object, errors));
    }
    strategy.canonicalize(object);
    Ok(Prepared(reservation))
}

fn refusal(scope: &Scope<'_>, object: &Value, mut errors: Errors) -> Status {
    errors.deduplicate();
    let name = tree::text(tree::field(object, "metadata"), "name");
    errors.into_status(scope.kind.group, scope.kind.kind, name)
}
