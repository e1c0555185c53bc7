//! Accepted differences of the embedded server. Its README lists them with the same words.

use super::compare::Difference;
use super::coverage::Coverage;
use super::request::Request;
use super::tree::Tree;

/// A class of differences that is accepted.
pub(crate) struct Deviation {
    /// As in the README of the embedded server.
    pub(crate) name: &'static str,
    /// The reason to accept it.
    pub(crate) reason: &'static str,
    /// True if it explains a difference in the answers of the real and the other server.
    matches: fn(&Request, &Difference, &[Tree; 2]) -> bool,
}

/// All of them. Every one is met in the repository's own run, or it fails: an unneeded one would hide mistakes.
pub(crate) const ALL: &[Deviation] = &[
    Deviation {
        name: "reviews allow everything",
        reason: "there is no authorization, and without tokens of its own (`Builder::token`) the server takes every token",
        matches: |request, difference, _| {
            request.cell.resource == "reviews"
                && [".body.status.", ".body.2.3.", ".body.2.3"]
                    .iter()
                    .any(|start| difference.path.starts_with(start))
        },
    },
    Deviation {
        name: "forbidden changes of pods come without a diff",
        reason: "the real server appends a diff of its internal Go structs to the message, whose fields are in no API",
        matches: |_, difference, _| is_diff(&difference.real, &difference.other),
    },
];

/// True if the real message is the other one with a diff in it.
fn is_diff(real: &str, other: &str) -> bool {
    // In JSON, in protobuf; YAML is compared by lines.
    let starts = ["\\n@@ -", "\n@@ -"].into_iter().filter_map(|start| real.find(start));
    let is_inserted = |at: usize| {
        real.get(..at) == other.get(..at) && other.get(at..).is_some_and(|end| real.ends_with(end))
    };
    starts.into_iter().any(is_inserted)
        || (real.contains(" items: ") && real.contains("@@ -") && !other.contains("@@ -"))
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
    fn a_diff_is_recognised() {
        assert!(is_diff(r#""[a: b\n@@ -1,2 +1,2 @@\n x\n, c: d]""#, r#""[a: b, c: d]""#));
        assert!(!is_diff(r#""[a: b\n@@ -1,2 +1,2 @@\n x\n, c: d]""#, r#""[a: b, c: e]""#));
        assert!(!is_diff(r#""a: b""#, r#""a""#));
    }

    #[test]
    fn the_readme_of_the_server_lists_every_deviation() {
        let readme = include_str!("../../../crates/embedded-apiserver/README.md");
        for deviation in ALL {
            let row = format!("| {} | {} |", deviation.name, deviation.reason);
            assert!(readme.contains(&row), "missing in the README of embedded-apiserver:\n{row}");
        }
    }
}
