//! The name of the release in sources and documents.

use serde_json::Value;

use super::release::Release;
use crate::shell::{self, Error};

/// What keeps the old name: history, measurements, files that other steps write, and our own examples.
const KEPT: [&str; 7] = [
    ":!CHANGELOG.md",
    ":!docs/decisions",
    ":!docs/reference/performance.md",
    ":!docs/reference/versions.md",
    ":!hack/testenv/releases",
    ":!xtask",
    ":!*go.[ms][ou][dm]",
];

/// The source with the numbers from which the program's constants are made.
const CONSTANTS: &str = "crates/endpoint-controller-manager/src/release.rs";

/// The releases that are supported: this one and as many before it, those that upstream can emulate.
pub(super) const BEFORE: u32 = 3;

/// Writes the new name where the old one is.
pub(super) fn change(old: &Release, new: &Release) -> Result<(), Error> {
    let mut names = vec![(old.to_string(), new.to_string())];
    if has_types(new)? {
        names.push((old.feature(), new.feature()));
    } else {
        eprintln!("xtask: k8s-openapi has no types of 1.{} yet: those of 1.{} stay", new.minor, old.minor);
    }
    for (old, new) in &names {
        for file in files_with(old)? {
            shell::change(file, |text| renamed(text, old, new))?;
        }
    }
    shell::change(CONSTANTS, |text| constants(text, new))?;
    let oldest = |release: &Release| format!("kubeVersion: \">=1.{}.0-0\"", release.minor - BEFORE);
    shell::change("deploy/chart/Chart.yaml", |text| text.replace(&oldest(old), &oldest(new)))
}

/// True if our version of `k8s-openapi` knows the release.
fn has_types(release: &Release) -> Result<bool, Error> {
    let printed = shell::output(&["cargo", "metadata", "--locked", "--format-version=1"])?;
    let metadata: Value =
        serde_json::from_str(&printed).map_err(|error| Error::Other(format!("cargo metadata: {error}")))?;
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let mut types = packages.filter(|package| package.get("name").is_some_and(|name| name == "k8s-openapi"));
    Ok(types.any(|package| package.pointer(&format!("/features/{}", release.feature())).is_some()))
}

fn files_with(name: &str) -> Result<Vec<String>, Error> {
    let mut words = vec!["git", "grep", "-l", "-I", "-F", "-e", name, "--"];
    words.extend(KEPT);
    Ok(shell::output(&words)?.lines().map(str::to_owned).collect())
}

/// The lines that name a minor release as such, which a person has to read: `FILE:LINE:TEXT`.
pub(super) fn minor_releases(new: &Release) -> Result<String, Error> {
    let minors: Vec<String> = (new.minor - BEFORE - 1..=new.minor).map(|minor| minor.to_string()).collect();
    let pattern = format!(r"(^|[^0-9.])v?1\.({})([^0-9]|$)|\bv1_({0})\b", minors.join("|"));
    let mut words =
        vec!["git", "grep", "-n", "-I", "-E", "-e", &pattern, "--", "*.rs", "*.md", "*.yaml", "hack"];
    words.extend(KEPT);
    shell::output(&words)
}

/// The text with `old` replaced wherever it is not a part of a longer name.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        // `11.37.2` and `1.37.20` are others, `v0.1.37.2` does not exist.
        let is_other = is_part(before.chars().next_back()) || is_part(after.chars().next());
        out += before;
        out += if is_other { old } else { new };
        rest = after;
    }
    out + rest
}

/// The numbers of the macros of [`CONSTANTS`].
fn constants(text: &str, release: &Release) -> String {
    let patch = release.patch.split('-').next().unwrap_or_default().to_owned();
    let numbers = [
        ("newest_minor", release.minor.to_string()),
        ("newest_patch", patch),
        ("previous_minor", (release.minor - 1).to_string()),
        ("oldest_minor", (release.minor - BEFORE).to_string()),
    ];
    let mut number = None;
    let mut out = String::new();
    for line in text.lines() {
        let begun = numbers.iter().find(|(name, _)| line == format!("macro_rules! {name} {{"));
        number = begun.map(|(_, number)| number).or(number);
        let value = line.trim();
        match number {
            Some(number) if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                out += &line.replace(value, number);
            }
            _ => out += line,
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_change() {
        let text = "1.37.2, v1.37.2; 1.37.20 11.37.2 (1.37.2)";
        assert_eq!(renamed(text, "1.37.2", "1.38.0"), "1.38.0, v1.38.0; 1.37.20 11.37.2 (1.38.0)");
        assert_eq!(renamed("v1_37 v1_370", "v1_37", "v1_38"), "v1_38 v1_370");
    }

    #[test]
    fn the_constants_are_those_of_the_release() {
        let present = super::super::modules::present().unwrap();
        let text = shell::read(CONSTANTS).unwrap();
        assert_eq!(constants(&text, &present), text, "{CONSTANTS} is not of {present}");
        let next = constants(&text, &Release { minor: present.minor + 1, patch: "0-rc.1".to_owned() });
        let macro_of =
            |name: &str, number: u32| format!("{name} {{\n    () => {{\n        {number}\n    }};");
        for (name, number) in [
            ("newest_minor", present.minor + 1),
            ("newest_patch", 0),
            ("previous_minor", present.minor),
            ("oldest_minor", present.minor + 1 - BEFORE),
        ] {
            assert!(next.contains(&macro_of(name, number)), "{name}: {next}");
        }
    }
}
