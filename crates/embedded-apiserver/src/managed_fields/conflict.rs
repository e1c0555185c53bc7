//! Fields that others own and an applied configuration changes.

use std::borrow::Cow;

use crate::patch::go_text;
use crate::status::{Cause, Status};

use super::element::Element;
use super::entries::Identity;
use super::set::Set;

/// A field and its owner.
#[derive(Debug, Clone)]
pub(crate) struct Conflict<'a> {
    owner: Identity<'a>,
    path: Vec<Element<'a>>,
}

/// All conflicts of one owner.
pub(crate) fn conflicts_of<'a>(owner: &Identity<'a>, paths: &Set<'a>) -> Vec<Conflict<'a>> {
    paths.paths().into_iter().map(|path| Conflict { owner: owner.clone(), path }).collect()
}

/// The conflicts with fields outside of a set.
pub(crate) fn outside<'a>(conflicts: &[Conflict<'a>], allowed: &Set<'_>) -> Vec<Conflict<'a>> {
    conflicts.iter().filter(|conflict| !allowed.has(&conflict.path)).cloned().collect()
}

/// The response to the request, 409. Source: apimachinery `NewConflictError`.
pub(crate) fn status(mut conflicts: Vec<Conflict<'_>>) -> Status {
    // upstream's causes are in the random order of a map
    conflicts.sort_by_cached_key(|conflict| conflict.owner.text());
    let mut status = Status::new(409, "Conflict", message(&conflicts));
    let causes = conflicts.iter().map(|conflict| Cause {
        reason: Cow::Borrowed("FieldManagerConflict"),
        message: format!("conflict with {}", owner(&conflict.owner)),
        field: path(&conflict.path),
    });
    status.details.get_or_insert_default().causes = causes.collect();
    status
}

fn message(conflicts: &[Conflict<'_>]) -> String {
    if let [only] = conflicts {
        let (owner, path) = (owner(&only.owner), path(&only.path));
        return format!("Apply failed with 1 conflict: conflict with {owner}: {path}");
    }
    let mut lines = Vec::new();
    let mut last = None;
    for conflict in conflicts {
        if last != Some(&conflict.owner) {
            lines.push(format!("conflicts with {}:", owner(&conflict.owner)));
            last = Some(&conflict.owner);
        }
        lines.push(format!("- {}", path(&conflict.path)));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

fn owner(owner: &Identity<'_>) -> String {
    let mut text = go_text::quoted(&owner.manager);
    if !owner.subresource.is_empty() {
        text.push_str(" with subresource ");
        text.push_str(&go_text::quoted(&owner.subresource));
    }
    if !owner.applied {
        text.push_str(" using ");
        text.push_str(&owner.api_version);
    }
    text
}

fn path(path: &[Element<'_>]) -> String {
    path.iter().map(ToString::to_string).collect()
}
