//! `cargo xtask newest`: are the releases of Kubernetes that we test with the newest patch releases?

use std::fs;

use crate::bump::modules;
use crate::bump::release::Release;
use crate::shell::{self, Error};

/// Fails if there is a newer patch release of Kubernetes than one that hack/matrix runs, or a newer minor release
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

/// Compares the releases that are pinned with those that the proxy of Go has.
///
/// # Errors
/// If one is outdated, or the proxy can't be asked.
pub(crate) fn run() -> Result<(), Error> {
    let directory = shell::root().join("hack/testenv/releases");
    let failed = |error| Error::File { path: directory.clone(), error };
    let mut tested = vec![modules::present()?];
    for entry in fs::read_dir(&directory).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        tested.push(Release::parse(&name.to_string_lossy()).map_err(Error::Other)?);
    }
    let printed =
        shell::output(&["go", "-C", "hack/testenv", "list", "-m", "-versions", "k8s.io/kubernetes"])?;
    let available: Vec<Release> =
        printed.split_whitespace().filter_map(|name| Release::parse(name).ok()).collect();
    let outdated = outdated(&tested, &available);
    if outdated.is_empty() { Ok(()) } else { Err(Error::Other(outdated.join("\n"))) }
}

/// The steps for each release that is not the newest, in order.
fn outdated(tested: &[Release], available: &[Release]) -> Vec<String> {
    let number = |release: &Release| release.patch.parse::<u32>().ok();
    let mut tested: Vec<&Release> = tested.iter().collect();
    tested.sort_by_key(|release| release.minor);
    let newest_of = |minor| available.iter().filter(|it| it.minor == minor).filter_map(number).max();
    let behind = tested.iter().enumerate().filter_map(|(place, release)| {
        let newest = newest_of(release.minor).filter(|newest| Some(*newest) > number(release))?;
        let newest = Release { minor: release.minor, patch: newest.to_string() };
        let is_ours = place + 1 == tested.len();
        let command = if is_ours { "cargo xtask bump" } else { "hack/testenv/release --pin" };
        Some(format!("{release} is tested, {newest} is released: {command} v{newest}"))
    });
    let mut lines: Vec<String> = behind.collect();
    let last = tested.last().map_or(0, |release| release.minor);
    let next = available.iter().filter(|release| release.minor > last && number(release).is_some());
    if let Some(next) = next.max_by_key(|release| (release.minor, number(release))) {
        lines.push(format!("{next} is released: cargo xtask bump v{next}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn releases(names: &str) -> Vec<Release> {
        names.split(' ').map(|name| Release::parse(name).unwrap()).collect()
    }

    #[test]
    fn newer_releases_are_found_and_others_are_not() {
        let tested = releases("1.37.2 1.34.9 1.36.3");
        let found = |available: &str| outdated(&tested, &releases(available));
        assert_eq!(found("1.34.8 1.34.9 1.35.4 1.36.3 1.37.0 1.37.2 1.37.3-rc.0 1.38.0-beta.0"), [""; 0]);
        assert_eq!(
            found("1.34.10 1.36.2 1.37.3 1.38.0 1.38.1"),
            [
                "1.34.9 is tested, 1.34.10 is released: hack/testenv/release --pin v1.34.10",
                "1.37.2 is tested, 1.37.3 is released: cargo xtask bump v1.37.3",
                "1.38.1 is released: cargo xtask bump v1.38.1",
            ]
        );
    }
}
