//! Checks of permissions: one for each role.

use std::collections::BTreeSet;

use crate::preflight::check::{Check, Id, Judged, counted, failed, ok, warning};
use crate::preflight::facts::Answer;
use crate::preflight::subject::Subject;

pub(super) fn permissions(answers: &[Answer], subject: &Subject) -> Vec<Check> {
    let mut ids: Vec<Id> = Vec::new();
    for answer in answers {
        if !ids.contains(&answer.need.check) {
            ids.push(answer.need.check);
        }
    }
    ids.into_iter()
        .map(|id| {
            let of_role: Vec<&Answer> = answers.iter().filter(|answer| answer.need.check == id).collect();
            Check::new(id, role(&of_role, subject))
        })
        .collect()
}

fn role<'a>(answers: &[&'a Answer], subject: &Subject) -> Judged<'a> {
    let who = subject.name();
    let missing: Vec<&Answer> =
        answers.iter().copied().filter(|answer| answer.allowed == Ok(false)).collect();
    let text = |answers: &[&Answer]| -> String {
        let texts: Vec<String> = answers.iter().map(|answer| answer.need.text()).collect();
        texts.join(", ")
    };
    let always: Vec<&Answer> = missing.iter().copied().filter(|answer| answer.need.only.is_none()).collect();
    if !always.is_empty() {
        return failed(
            format!("{who} may not: {}", text(&always)),
            "Bind the roles to it: they come with the installation, whose Lease is on hold first \
             (docs/operate/adopting.md), on OpenShift with deploy/components/openshift. If an upgrade of the \
             chart brings them, upgrade first with preflight.enabled=false. A managed cluster needs none",
        );
    }
    if let Some(unknown) = answers.iter().find_map(|answer| answer.allowed.as_ref().err()) {
        return Err(unknown);
    }
    if !missing.is_empty() {
        let reasons: BTreeSet<&str> = missing.iter().filter_map(|answer| answer.need.only).collect();
        return warning(
            format!("{who} may not: {}", text(&missing)),
            format!(
                "Bind the roles to it, which come with the installation (docs/operate/adopting.md), unless this cluster does \
                 without: {}",
                reasons.into_iter().collect::<Vec<_>>().join("; ")
            ),
        );
    }
    let hint = match subject {
        Subject::Caller => "; --service-account or --for-user checks those of the program's own user",
        Subject::User(_) => "",
    };
    ok(format!("{who} has all of {}{hint}", counted(answers.len(), "permission")))
}
