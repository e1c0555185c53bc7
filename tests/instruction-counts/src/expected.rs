//! The counts in the repository.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The difference in percent that is not reported. Tables with random seeds differ by less than two from run to run; the
/// rest is for other versions of the C library.
const TOLERANCE: u64 = 4;

const HEAD: &str = "\
# Instructions for one item of each case, x86_64-linux. `hack/lib/instructions --update` writes this file.
";

/// The result of a comparison.
pub(crate) struct Report {
    /// A line for each case.
    pub(crate) text: String,
    /// True if no case differs by more than the tolerance, and the file has the same cases.
    pub(crate) agrees: bool,
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("expected.txt")
}

/// Reads the file.
pub(crate) fn read() -> BTreeMap<String, u64> {
    let path = path();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines
        .map(|line| {
            let (name, count) =
                line.split_once(' ').expect("a name and a count in each line of expected.txt");
            let count = count.trim().parse().unwrap_or_else(|error| panic!("expected.txt: {line}: {error}"));
            (name.to_owned(), count)
        })
        .collect()
}

/// Writes the file.
pub(crate) fn write(counts: &[(&str, u64)]) {
    let mut text = HEAD.to_owned();
    for (name, count) in counts {
        writeln!(text, "{name:24}{count:>10}").unwrap();
    }
    std::fs::write(path(), &text).expect("writing expected.txt");
    print!("{text}");
}

/// Compares counts with expected ones.
pub(crate) fn compare(expected: &BTreeMap<String, u64>, counts: &[(&str, u64)]) -> Report {
    let mut text = format!("{:24}{:>10}{:>10}\n", "instructions", "expected", "counted");
    let mut agrees = true;
    for (name, count) in counts {
        let Some(expected) = expected.get(*name) else {
            agrees = false;
            writeln!(text, "{name:24}{:>10}{count:>10}  NEW", "").unwrap();
            continue;
        };
        let within = count.abs_diff(*expected) * 100 <= expected * TOLERANCE;
        let verdict = match count.cmp(expected) {
            _ if within => "",
            Ordering::Greater => "  MORE",
            Ordering::Less | Ordering::Equal => "  LESS",
        };
        agrees &= within;
        writeln!(text, "{name:24}{expected:>10}{count:>10}{verdict}").unwrap();
    }
    for name in expected.keys().filter(|name| counts.iter().all(|(known, _)| known != name)) {
        agrees = false;
        writeln!(text, "{name:24}  no such case").unwrap();
    }
    if !agrees {
        writeln!(
            text,
            "Counts differ by more than {TOLERANCE} %. If that is intended, run hack/lib/instructions --update, and give \
             the reason in the commit."
        )
        .unwrap();
    }
    Report { text, agrees }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(expected: &[(&str, u64)], counts: &[(&str, u64)]) -> bool {
        let expected = expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        compare(&expected, counts).agrees
    }

    #[test]
    fn counts_agree_within_the_tolerance() {
        assert!(agrees(&[("a", 1_000)], &[("a", 1_040)]));
        assert!(agrees(&[("a", 1_000)], &[("a", 960)]));
    }

    #[test]
    fn counts_beyond_the_tolerance_are_differences_also_if_they_are_lower() {
        assert!(!agrees(&[("a", 1_000)], &[("a", 1_041)]));
        assert!(!agrees(&[("a", 1_000)], &[("a", 959)]));
    }

    #[test]
    fn the_file_has_the_same_cases() {
        assert!(!agrees(&[], &[("new", 1)]));
        assert!(!agrees(&[("gone", 1)], &[]));
        let names = |name: &str| read().contains_key(name);
        assert!(crate::cases::ALL.iter().all(|case| names(case.name)), "a case is not in expected.txt");
    }
}
