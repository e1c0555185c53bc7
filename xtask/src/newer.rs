//! Releases that the module proxy has and the repository does not use.

use crate::matrix;
use crate::modules;
use crate::release::Release;
use crate::repository::{Outcome, Repository};

/// Lists newer patch releases of those that are pinned, and newer minor releases.
///
/// # Errors
/// There are some.
pub(crate) fn list(repository: &Repository) -> Outcome {
    let versions =
        repository.output("go", &["-C", "/", "list", "-m", "-versions", "k8s.io/kubernetes"], ".")?;
    let known = versions.split_whitespace().filter_map(|text| text.parse().ok());
    let mut pinned = matrix::pinned(repository)?;
    pinned.push(modules::current(repository)?);
    let newer = newer_than(&pinned, known.collect());
    for release in &newer {
        println!("{release}");
    }
    if newer.is_empty() {
        Ok(())
    } else {
        Err("there are newer releases: see docs/develop/bumping.md".to_owned())
    }
}

/// The newest release of each minor one that is newer than what is pinned, without those before a release proper.
fn newer_than(pinned: &[Release], mut known: Vec<Release>) -> Vec<Release> {
    known.retain(|release| release.suffix.is_empty());
    known.sort();
    let mut newer: Vec<Release> = Vec::new();
    let newest = pinned.iter().map(|release| release.minor).max();
    for release in known {
        let of_same = pinned.iter().find(|pinned| pinned.minor == release.minor);
        if of_same.map_or(Some(release.minor) > newest, |pinned| release > *pinned) {
            newer.retain(|other| other.minor != release.minor);
            newer.push(release);
        }
    }
    newer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_patches_and_minor_releases_are_listed_once() {
        let releases =
            |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Release>>();
        let known = ["v1.33.14", "v1.36.3", "v1.36.5", "v1.36.4", "v1.37.2", "v1.38.0", "v1.39.0-alpha.1"];
        assert_eq!(
            newer_than(&releases(&["v1.36.3", "v1.37.2"]), releases(&known)),
            releases(&["v1.36.5", "v1.38.0"])
        );
        assert!(newer_than(&releases(&["v1.37.2"]), releases(&["v1.36.9", "v1.37.2"])).is_empty());
    }
}
