//! The pins of older releases, with which hack/matrix tests.

use std::fs;

use crate::release::Release;
use crate::repository::{Outcome, Repository};

const FOLDER: &str = "hack/testenv/releases";

/// The older releases that are pinned.
pub(crate) fn pinned(repository: &Repository) -> Outcome<Vec<Release>> {
    let files = fs::read_dir(repository.path(FOLDER)).map_err(|error| format!("{FOLDER}: {error}"))?;
    let mut releases = Vec::new();
    for file in files {
        let name = file.map_err(|error| format!("{FOLDER}: {error}"))?.file_name();
        releases.push(name.to_string_lossy().parse()?);
    }
    releases.sort();
    Ok(releases)
}

/// Pins the former release, and drops what is no longer supported. The table of docs/versions.md is written by
/// `hack/matrix --update`, which takes hours.
pub(crate) fn update(repository: &Repository, from: &Release, to: &Release) -> Outcome {
    if from.minor != to.minor {
        repository.run("hack/testenv/release", &["--pin", &from.to_string()], ".")?;
    }
    for release in pinned(repository)? {
        if release.minor < to.oldest() || release.minor == to.minor {
            println!("drops {release}");
            let file = repository.path(FOLDER).join(release.to_string());
            fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    println!("now run hack/matrix --update");
    Ok(())
}
