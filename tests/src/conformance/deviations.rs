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
    Deviation {
        name: "no kind has warnings about its content",
        reason: "no program of this repository reads them",
        matches: |_, difference, _| has_fewer_warnings(difference),
    },
    Deviation {
        name: "an unreadable continue token is refused in other words",
        reason: "client libraries send none",
        matches: |_, difference, _| {
            difference.path == ".body.message"
                && [&difference.real, &difference.other]
                    .iter()
                    .all(|text| text.contains("invalid continue token"))
        },
    },
    Deviation {
        name: "a merge patch that is refused is quoted with sorted fields",
        reason: "the real server prints what the patch does not touch in the order of Go's structs",
        matches: |request, difference, _| request.cell.verb == "patch" && is_the_same_but_sorted(difference),
    },
    Deviation {
        name: "errors are never indented",
        reason: "the real server does it for clients that accept neither JSON nor protobuf, or tables only",
        matches: |_, difference, answers| is_indented_error(difference, answers),
    },
];

/// True if two messages quote an object with its fields in different orders.
fn is_the_same_but_sorted(difference: &Difference) -> bool {
    let characters = |text: &str| {
        let mut characters: Vec<char> = text.chars().collect();
        characters.sort_unstable();
        characters
    };
    let is_message = difference.path.ends_with("message") || difference.path.starts_with(".body.2.");
    let [real, other] = [&difference.real, &difference.other];
    is_message
        && [real, other].iter().all(|text| text.contains("Invalid value: "))
        && characters(real) == characters(other)
}

/// A field of an answer, as JSON.
fn at(answer: &Tree, path: &[&str]) -> Option<String> {
    path.iter().try_fold(answer, |tree, key| tree.get(key)).map(Tree::print)
}

/// True if the real server's error has more white space.
fn is_indented_error(difference: &Difference, answers: &[Tree; 2]) -> bool {
    difference.path == ".shape"
        && difference.real.contains("indented")
        && difference.other.contains("compact")
        && answers.iter().all(|answer| at(answer, &["body", "kind"]).as_deref() == Some("\"Status\""))
}

/// Parts of warnings that do not depend on the rules of a kind.
const OF_EVERY_KIND: [&str; 2] = ["unknown field", "v1 Endpoints is deprecated"];

/// True if the real server's warnings are the other one's and more, of which none is one of [`OF_EVERY_KIND`].
fn has_fewer_warnings(difference: &Difference) -> bool {
    let items = |text| str::split_once(text, " items: ").map_or("", |(_, items)| items);
    let missing = match difference.path.as_str() {
        ".header.warning" if difference.other.is_empty() => Some(&*difference.real),
        ".header.warning[]" => items(&difference.real).strip_prefix(items(&difference.other)),
        _ => None,
    };
    missing.is_some_and(|missing| !OF_EVERY_KIND.iter().any(|text| missing.contains(text)))
}

/// True if the real message is the other one with a diff in it.
fn is_diff(real: &str, other: &str) -> bool {
    // In JSON, in protobuf.
    let starts = ["\\n@@ -", "\n@@ -"].into_iter().filter_map(|start| real.find(start));
    let is_inserted = |at: usize| {
        real.get(..at) == other.get(..at) && other.get(at..).is_some_and(|end| real.ends_with(end))
    };
    starts.into_iter().any(is_inserted)
        || (real.contains(" items: ") && real.contains("@@ -") && !other.contains("@@ -"))
}

/// True if a page of Events of the real server is followed by Events that are not the sequence's: its repair of Services writes
/// some into the namespace. The label selector keeps them out of the page, but not out of its continue token.
fn is_page_before_repair(request: &Request, difference: &Difference) -> bool {
    // Absent in JSON, empty in protobuf.
    let has_token = |value: &str| !["", "\"\""].contains(&value);
    request.cell.resource == "events"
        && request.cell.verb == "list"
        && difference.path.ends_with(".metadata.continue")
        && has_token(&difference.real)
        && !has_token(&difference.other)
}

/// True if an update took the last finalizer of an object that is being deleted. The real server responds with what the client
/// sent, whose empty lists and `selfLink` the store does not keep.
fn is_end_of_deletion(difference: &Difference, answers: &[Tree; 2]) -> bool {
    let is_deleted = |answer: &Tree| {
        let metadata = answer.get("body").and_then(|body| body.get("metadata"));
        metadata.is_some_and(|metadata| metadata.get("deletionTimestamp").is_some())
    };
    let is_kept = difference.real == "[]" && difference.other == "null"
        || difference.path == ".body.metadata.selfLink" && difference.other.is_empty();
    is_kept && answers.iter().all(is_deleted)
}

/// True if a pod's host ports are compared, which are absent but count as 0 after an apply.
fn is_of_host_ports(difference: &Difference) -> bool {
    difference.real.contains(".hostPort") && !difference.other.contains(".hostPort")
}

/// The consequences of a deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// The servers have different objects now: the rest of the sequence would differ.
    StateDiffers,
}

/// Removes the differences that deviations explain, and counts them. Removes three rare ones too, which no run can count on: what
/// the real server's repair explains, what is left of an object that is gone, and host ports.
pub(crate) fn remove(
    request: &Request,
    differences: &mut Vec<Difference>,
    answers: &[Tree; 2],
    coverage: &mut Coverage,
) -> Effect {
    let mut effect = Effect::None;
    differences.retain(|difference| {
        if is_page_before_repair(request, difference) {
            effect = Effect::StateDiffers;
            return false;
        }
        if is_end_of_deletion(difference, answers) || is_of_host_ports(difference) {
            return false;
        }
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
    use super::super::{generator, request::Cell};
    use super::*;

    #[test]
    fn a_diff_is_recognised() {
        assert!(is_diff(r#""[a: b\n@@ -1,2 +1,2 @@\n x\n, c: d]""#, r#""[a: b, c: d]""#));
        assert!(!is_diff(r#""[a: b\n@@ -1,2 +1,2 @@\n x\n, c: d]""#, r#""[a: b, c: e]""#));
        assert!(!is_diff(r#""a: b""#, r#""a""#));
    }

    #[test]
    fn another_order_of_fields_is_recognised() {
        let is_same = |real: &str, other: &str| {
            let (real, other) = (real.to_owned(), other.to_owned());
            is_the_same_but_sorted(&Difference { path: ".body.message".to_owned(), real, other })
        };
        assert!(is_same(r#"Invalid value: "{b: 1, a: 2}": c"#, r#"Invalid value: "{a: 2, b: 1}": c"#));
        assert!(!is_same(r#"Invalid value: "{b: 1, a: 2}": c"#, r#"Invalid value: "{a: 2, b: 1}": d"#));
        assert!(!is_same("a b", "b a"));
    }

    #[test]
    fn missing_warnings_are_recognised() {
        let fewer = |path: &str, real: &str, other: &str| {
            let (real, other) = (real.to_owned(), other.to_owned());
            has_fewer_warnings(&Difference { path: path.to_owned(), real, other })
        };
        assert!(fewer(".header.warning", r#"["299 - a"]"#, ""));
        assert!(!fewer(".header.warning", r#"["299 - unknown field \"a\""]"#, ""));
        assert!(!fewer(".header.warning", "", r#"["299 - a"]"#));
        assert!(fewer(".header.warning[]", r#"2 items: "299 - a" "299 - b""#, r#"1 items: "299 - a""#));
        assert!(!fewer(".header.warning[]", r#"2 items: "299 - a" "299 - b""#, r#"1 items: "299 - c""#));
        assert!(!fewer(".body.message", "a", ""));
    }

    #[test]
    fn only_a_token_after_the_last_page_of_events_is_left_to_the_repair_of_services() {
        let page = |resource| {
            let mut request = generator::sequence(1).swap_remove(0);
            request.cell = Cell { resource, verb: "list", option: "limit" };
            request
        };
        let difference = |path: &str, real: &str, other: &str| Difference {
            path: path.to_owned(),
            real: real.to_owned(),
            other: other.to_owned(),
        };
        let more = difference(".body.metadata.continue", "\"⟦opaque⟧\"", "");
        let in_protobuf = difference(".body.2.metadata.continue", "\"⟦opaque⟧\"", "\"\"");
        let less = difference(".body.metadata.continue", "", "\"⟦opaque⟧\"");
        let name = difference(".body.items[0].metadata.name", "\"e1\"", "");
        assert!(is_page_before_repair(&page("events"), &more));
        assert!(is_page_before_repair(&page("events"), &in_protobuf));
        assert!(!is_page_before_repair(&page("services"), &more));
        assert!(!is_page_before_repair(&page("events"), &less));
        assert!(!is_page_before_repair(&page("events"), &name));

        let answers = [Tree::Null, Tree::Null];
        let mut found = vec![more, name.clone()];
        let effect = remove(&page("events"), &mut found, &answers, &mut Coverage::default());
        assert_eq!(found, [name], "the rest of the answer counts");
        assert_eq!(effect, Effect::StateDiffers, "the pages after it differ");
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
