//! What the embedded server does not do as the real one, and why. Its README lists the same.

use super::compare::Difference;
use super::coverage::Coverage;
use super::request::Request;
use super::tree::Tree;

/// A class of differences that is accepted.
pub(crate) struct Deviation {
    /// As in the README of the embedded server.
    pub(crate) name: &'static str,
    /// Why it is accepted.
    pub(crate) reason: &'static str,
    /// Whether it explains a difference in the answers of the real and the other server.
    matches: fn(&Request, &Difference, &[Tree; 2]) -> bool,
}

/// All of them. Every one is met in the repository's own run, or it fails: an unneeded one would hide mistakes.
pub(crate) const ALL: &[Deviation] = &[
    Deviation {
        name: "reviews allow everything",
        reason: "there is no authentication and no authorization: TokenReview and SubjectAccessReview always say yes, with a reason",
        matches: |request, difference, _| {
            request.cell.resource == "reviews"
                && [".body.status.", ".body.2.3.", ".body.2.3"].iter().any(|start| difference.path.starts_with(start))
        },
    },
    Deviation {
        name: "forbidden changes of pods come without a diff",
        reason: "the real server appends a diff of its internal Go structs to the message, whose fields are in no API",
        matches: |_, difference, _| without_diff(&difference.real) == without_diff(&difference.other) && difference.real.contains("\\n@@ -"),
    },
];

/// A message up to the diff.
fn without_diff(message: &str) -> &str {
    message.split("\\n@@ -").next().unwrap_or_default().trim_end_matches('"')
}

/// The consequences of a deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// The servers have different objects now: the rest of the sequence would differ.
    StateDiffers,
}

/// Removes the differences that deviations explain, and counts them.
pub(crate) fn remove(
    request: &Request,
    differences: &mut Vec<Difference>,
    answers: &[Tree; 2],
    coverage: &mut Coverage,
) -> Effect {
    let mut effect = Effect::None;
    differences.retain(|difference| {
        let Some(deviation) = ALL.iter().find(|deviation| (deviation.matches)(request, difference, answers))
        else {
            return true;
        };
        *coverage.deviations.entry(deviation.name).or_default() += 1;
        if difference.path == ".status" {
            effect = Effect::StateDiffers;
        }
        false
    });
    effect
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_of_the_server_lists_every_deviation() {
        let readme = include_str!("../../../crates/embedded-apiserver/README.md");
        for deviation in ALL {
            let row = format!("| {} | {} |", deviation.name, deviation.reason);
            assert!(readme.contains(&row), "missing in the README of embedded-apiserver:\n{row}");
        }
    }
}
