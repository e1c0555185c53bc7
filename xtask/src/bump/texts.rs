//! The name of the release in sources and documents.

use serde_json::Value;

use super::release::Release;
use crate::shell::{self, Error};

/// Files that keep the old name: history, measurements and records, files that other steps write, and our own examples.
const KEPT: [&str; 11] = [
    ":!CHANGELOG.md",
    ":!crates/kubectl-endpoints/tests/it/settled.yaml",
    ":!docs/decisions",
    ":!docs/operate/sizing.md",
    ":!docs/reference/measured",
    ":!docs/reference/performance.md",
    ":!docs/reference/versions.md",
    ":!docs/upstream",
    ":!hack/testenv/releases",
    ":!xtask",
    ":!*go.[ms][ou][dm]",
];

/// Files without a release that a person has to change.
const READ: [&str; 5] =
    [":!CHANGELOG.md", ":!docs/decisions", ":!docs/reference/measured", ":!xtask", ":!Cargo.lock"];

/// Files in which the minor release of the types is named without a patch release.
const MINORS: [&str; 5] = [
    "CONTRIBUTING.md",
    "crates/embedded-apiserver/Cargo.toml",
    "crates/pod-network-controller/src/process.rs",
    "hack/checks/semver",
    "hack/releasing/package",
];

/// A manifest with the feature of `k8s-openapi`.
const MANIFEST: &str = "tests/Cargo.toml";

/// The source with the numbers from which the program's constants are made.
const CONSTANTS: &str = "crates/endpoint-controller-manager/src/version.rs";

/// The releases that are supported: this one and as many before it, those that upstream can emulate.
pub(super) const BEFORE: u32 = 3;

/// Writes the new name where the old one is.
pub(super) fn change(old: &Release, new: &Release) -> Result<(), Error> {
    rename(&old.to_string(), &new.to_string())?;
    let types = types()?;
    if has_types(new)? {
        rename(&format!("v1_{types}"), &new.feature())?;
        for file in MINORS {
            shell::change(file, |text| renamed(text, &format!("1.{types}"), &format!("1.{}", new.minor)))?;
        }
    } else {
        eprintln!("xtask: k8s-openapi has no types of 1.{} yet: those of 1.{types} stay", new.minor);
    }
    shell::change(CONSTANTS, |text| constants(text, new))?;
    let oldest = |release: &Release| format!("kubeVersion: \">=1.{}.0-0\"", release.minor - BEFORE);
    shell::change("deploy/chart/Chart.yaml", |text| text.replace(&oldest(old), &oldest(new)))
}

/// Writes a new name wherever the old one is, but in the tables of README, which have measurements.
fn rename(old: &str, new: &str) -> Result<(), Error> {
    for file in files_with(old)? {
        let is_measured = |line: &str| file == "README.md" && line.starts_with('|');
        let line = |line: &str| if is_measured(line) { line.to_owned() } else { renamed(line, old, new) };
        shell::change(&file, |text| text.split_inclusive('\n').map(line).collect())?;
    }
    Ok(())
}

/// The minor release whose types are compiled, which `k8s-openapi` may have later than Kubernetes.
fn types() -> Result<u32, Error> {
    let manifest = shell::read(MANIFEST)?;
    let (_, feature) = manifest.split_once("\"v1_").unwrap_or_default();
    let minor = feature.split('"').next().and_then(|minor| minor.parse().ok());
    minor.ok_or_else(|| Error::Other(format!("{MANIFEST} names no feature of k8s-openapi such as v1_38")))
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
    let mut words = vec!["-l", "-F", "-e", name, "--"];
    words.extend(KEPT);
    Ok(shell::grep(&words)?.lines().map(str::to_owned).collect())
}

/// The lines that name a minor release as such, which a person has to read: `FILE:LINE:TEXT`.
pub(super) fn minor_releases(new: &Release) -> Result<String, Error> {
    let minors: Vec<String> = (new.minor - BEFORE - 1..=new.minor).map(|minor| minor.to_string()).collect();
    // The last form is that of /version.
    let pattern = format!(r#"(^|[^0-9.])v?1\.({})([^0-9]|$)|\bv1_({0})\b|"({0})""#, minors.join("|"));
    let mut words = vec!["-n", "-E", "-e", &pattern, "--", "*.rs", "*.md", "*.toml", "*.yaml", "hack"];
    words.extend(READ);
    shell::grep(&words)
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
    fn a_name_that_no_file_has_stops_nothing() {
        assert_eq!(files_with(concat!("1.37", ".2000")).unwrap(), [""; 0]);
    }

    #[test]
    fn measurements_and_records_keep_the_name() {
        let present = super::super::modules::present().unwrap().to_string();
        let kept = ["docs/reference/measured/", "settled.yaml"];
        let files = files_with(&present).unwrap();
        assert!(!files.iter().any(|file| kept.iter().any(|part| file.contains(part))), "{files:?}");
        assert!(types().unwrap() <= super::super::modules::present().unwrap().minor);
    }

    #[test]
    fn a_person_reads_each_line_with_the_minor_release() {
        let present = super::super::modules::present().unwrap();
        let lines = minor_releases(&present).unwrap();
        for file in
            ["docs/reference/versions.md:", "crates/embedded-apiserver/Cargo.toml:", "bin/million/server.rs:"]
        {
            assert!(lines.contains(file), "{file}");
        }
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
