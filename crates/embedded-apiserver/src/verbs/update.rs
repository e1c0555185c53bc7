//! `PUT`: `handlers/update.go`.

use super::call::{Call, Outcome};
use super::change::{Change, change};
use super::decode;
use super::meta;
use super::names;
use super::options::{WriteOptions, manager};
use super::tracking;
use crate::http::content_type;
use crate::kinds::fit_namespace;
use crate::status::Status;

/// Replaces an object or a part of it.
pub(crate) fn update(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let body = call.body()?;
    let options = WriteOptions::parse(call.query, "UpdateOptions")?;
    let format = content_type::format_of(call.headers)?;
    let mut object = decode::body(format, body, entry.into(), options.validation, warnings)?;
    entry.kind.strategy.default(&mut object);
    fit_namespace(entry.kind, &target.namespace, &mut object)?;
    names::check_name(&object, &target.name)?;
    let by = manager(&options, call.headers);
    let fields = tracking::manager(entry, target.subresource);
    let uid = meta::text(&object, "uid").to_owned();
    let request = Change { uid: &uid, ..call.change(&options) };
    let changed = change(core, request, warnings, &mut |live, _| {
        let mut object = object.clone();
        fields.update(live, &mut object, &by, core.environment.now());
        Ok(object)
    })?;
    Ok(Outcome::of_change(changed))
}
