//! The release where it is written down: in two sources, in manifests, and in claims of documents.

use crate::release::Release;
use crate::repository::{Outcome, Repository};

/// Documents whose every mention of the release is a claim about this program, and not one about the past.
const CLAIMS: &[&str] = &[
    "CHANGELOG.md",
    "README.md",
    "crates/endpoint-controller-manager/src/connection/server_version.rs",
    "crates/kubectl-endpoints/src/preflight/checks/tests.rs",
    "crates/kubectl-endpoints/src/preflight/output.rs",
    "docs/differences.md",
    "docs/glossary.md",
    "docs/parity.md",
    "hack/testenv/README.md",
    "hack/testenv/seed/objects.go",
    "tests/src/bin/million/server.rs",
];

/// The same for the minor release.
const MINOR_CLAIMS: &[&str] = &[
    "crates/component-server/src/lib.rs",
    "crates/endpoints-controller/README.md",
    "crates/endpoints-controller/src/lib.rs",
    "crates/endpointslice-controller/README.md",
    "crates/endpointslice-mirroring-controller/README.md",
    "crates/endpointslice-mirroring-controller/tests/it/upstream_cases/mod.rs",
    "crates/endpointslice/src/lib.rs",
    "crates/endpointslice/src/topology/mod.rs",
    "crates/endpointslice/tests/it/upstream_cases/mod.rs",
];

/// Writes the release to every place.
pub(crate) fn update(repository: &Repository, from: &Release, to: &Release) -> Outcome {
    repository.edit("crates/endpoint-controller-manager/src/release.rs", |text| {
        [
            ("newest_minor", to.minor),
            ("newest_patch", to.patch),
            ("previous_minor", to.minor - 1),
            ("oldest_minor", to.oldest()),
        ]
        .iter()
        .fold(text.to_owned(), |text, (name, value)| with_macro(&text, name, *value))
    })?;
    repository.edit("crates/embedded-apiserver/src/discovery.rs", |text| {
        text.replace(&format!("\"{from}\""), &format!("\"{to}\""))
    })?;
    for name in CLAIMS {
        repository.edit(name, |text| text.replace(&from.number(), &to.number()))?;
    }
    if from.minor == to.minor { Ok(()) } else { update_minor(repository, from, to) }
}

fn update_minor(repository: &Repository, from: &Release, to: &Release) -> Outcome {
    let minor = |release: &Release| format!("1.{}", release.minor);
    for name in MINOR_CLAIMS {
        repository.edit(name, |text| text.replace(&minor(from), &minor(to)))?;
    }
    repository.edit("tests/src/release.rs", |text| {
        text.replace(&format!("NEWEST: u16 = {}", from.minor), &format!("NEWEST: u16 = {}", to.minor))
    })?;
    repository.edit("deploy/chart/Chart.yaml", |text| {
        text.replace(&format!(">=1.{}.0-0", from.oldest()), &format!(">=1.{}.0-0", to.oldest()))
    })?;
    repository.edit("CHANGELOG.md", |text| {
        let range = |release: &Release| format!("1.{} to 1.{}", release.oldest(), release.minor);
        text.replace(&range(from), &range(to))
    })?;
    repository.edit("docs/versions.md", |text| policy(text, from, to))?;
    features(repository, from, to)
}

/// The table of flags for older API servers, one release later.
fn policy(text: &str, from: &Release, to: &Release) -> String {
    let row = |minor: u16| format!("  | 1.{minor} | `--emulated-version=1.{minor}` |\n");
    let text = text.replace(&row(from.oldest()), "");
    text.replace(
        &format!("  | 1.{} | |\n", from.minor),
        &format!("  | 1.{} | |\n{}", to.minor, row(from.minor)),
    )
}

/// The version of Kubernetes with which `k8s-openapi` is compiled, if it has it.
fn features(repository: &Repository, from: &Release, to: &Release) -> Outcome {
    let feature = |minor: u16| format!("v1_{minor}");
    let metadata = repository.output("cargo", &["metadata", "--format-version=1", "--locked"], ".")?;
    if !metadata.contains(&format!("\"{}\":[", feature(to.minor))) {
        println!("k8s-openapi has no {}: manifests stay", feature(to.minor));
        return Ok(());
    }
    let range =
        |release: &Release| format!("`{}` to `{}`", feature(release.oldest()), feature(release.minor));
    let versions =
        |release: &Release| format!("versions=({} {})", feature(release.oldest()), feature(release.minor));
    let environment = |release: &Release| format!("K8S_OPENAPI_ENABLED_VERSION=1.{}", release.minor);
    let quoted = |release: &Release| format!("K8S_OPENAPI_ENABLED_VERSION='1.{}'", release.minor);
    let listed = |release: &Release| format!("\"{}\"", feature(release.minor));
    let chosen = |release: &Release| format!("k8s-openapi/{}\"", feature(release.minor));
    let mut names = repository.tracked("Cargo.toml")?;
    names.extend(repository.tracked("README.md")?);
    names.extend(["CONTRIBUTING.md", "hack/package", "hack/semver"].map(ToOwned::to_owned));
    for name in names {
        let mut text = repository.read(&name)?;
        let forms: [&dyn Fn(&Release) -> String; 6] =
            [&range, &versions, &environment, &quoted, &listed, &chosen];
        for form in forms {
            text = text.replace(&form(from), &form(to));
        }
        repository.write(&name, &text)?;
    }
    Ok(())
}

/// The text with another number as the value of a macro.
fn with_macro(text: &str, name: &str, value: u16) -> String {
    let Some((begin, rest)) = text.split_once(&format!("macro_rules! {name} {{\n    () => {{\n        "))
    else {
        return text.to_owned();
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{begin}macro_rules! {name} {{\n    () => {{\n        {value}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_macros_are_replaced() {
        let text = "a\nmacro_rules! newest_minor {\n    () => {\n        36\n    };\n}\nb";
        assert_eq!(with_macro(text, "newest_minor", 37), text.replace("36", "37"));
        assert_eq!(with_macro(text, "other", 37), text);
    }

    #[test]
    fn the_policy_moves_on_by_a_release() {
        let [from, to] = ["v1.37.2", "v1.38.0"].map(|text| text.parse().unwrap());
        let row = |minor: u16| format!("  | 1.{minor} | `--emulated-version=1.{minor}` |\n");
        let before = format!("  | 1.37 | |\n{}{}{}", row(36), row(35), row(34));
        assert_eq!(policy(&before, &from, &to), format!("  | 1.38 | |\n{}{}{}", row(37), row(36), row(35)));
    }
}
