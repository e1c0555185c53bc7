//! The upstream files that our rules cite and that changed between two releases, with their diffs: what a person has to read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::modules::{download, staging};
use crate::release::Release;
use crate::repository::{Outcome, Repository};

/// More files than this of one name are not one that a rule means.
const AMBIGUOUS: usize = 6;

/// Writes target/bump/FROM-TO.md.
pub(crate) fn write(repository: &Repository, from: &Release, to: &Release) -> Outcome {
    let cited = citations(repository)?;
    let [old, new] = [index(repository, from)?, index(repository, to)?];
    let mut text = format!("# Upstream files that are cited here, {from} to {to}\n\n");
    let (mut diffs, mut unknown) = (String::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    for (path, citing) in &cited {
        let found = matching(&old, path);
        if found.is_empty() || found.len() > AMBIGUOUS {
            unknown.insert(path.as_str());
            continue;
        }
        for name in found {
            if !seen.insert(name.to_owned()) {
                continue;
            }
            let citing: Vec<&str> = citing.iter().map(String::as_str).collect();
            let before = old[name].to_string_lossy().into_owned();
            let Some(after) = new.get(name) else {
                writeln!(text, "* `{name}` is gone; cited in {}", citing.join(", ")).expect("a String");
                continue;
            };
            let after = after.to_string_lossy().into_owned();
            let diff = repository.output("git", &["diff", "--no-index", &before, &after], ".")?;
            if !diff.is_empty() {
                let count = |sign: char| diff.lines().skip(4).filter(|line| line.starts_with(sign)).count();
                let counts = format!("+{} -{}", count('+'), count('-'));
                writeln!(text, "* `{name}` {counts}; cited in {}", citing.join(", ")).expect("a String");
                write!(diffs, "\n## {name}\n\n```diff\n{diff}```\n").expect("a String");
            }
        }
    }
    let unknown: Vec<&str> = unknown.into_iter().collect();
    write!(
        text,
        "\nNot compared, because no file or too many have the name: {}.\n{diffs}",
        unknown.join(", ")
    )
    .expect("a String");
    repository.write(&format!("target/bump/{from}-{to}.md"), &text)
}

/// The Go files that sources and documents name, and the files that name them.
fn citations(repository: &Repository) -> Outcome<BTreeMap<String, BTreeSet<String>>> {
    let mut cited: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut names = repository.tracked(".rs")?;
    names.extend(repository.tracked(".md")?);
    for name in names {
        for path in go_files(&repository.read(&name)?) {
            cited.entry(path).or_default().insert(name.clone());
        }
    }
    Ok(cited)
}

/// The names in a text that end in `.go`.
fn go_files(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_./-".contains(c)));
    let files = words.map(|word| word.trim_end_matches('.').trim_start_matches(['.', '/']));
    let is_file = |word: &&str| Path::new(word).extension().is_some_and(|ending| ending == "go");
    files.filter(is_file).filter(|word| !word.ends_with("_test.go")).map(ToOwned::to_owned).collect()
}

/// The Go files of a release, by module and path.
fn index(repository: &Repository, release: &Release) -> Outcome<BTreeMap<String, PathBuf>> {
    let kubernetes = download(repository, "k8s.io/kubernetes", &release.to_string())?;
    let mut files = BTreeMap::new();
    for library in staging(&kubernetes)? {
        let module = download(repository, &library, &release.staging())?;
        collect(&module.dir, &library, &mut files)?;
    }
    for folder in ["cmd", "pkg", "plugin"] {
        collect(&kubernetes.dir.join(folder), &format!("k8s.io/kubernetes/{folder}"), &mut files)?;
    }
    Ok(files)
}

fn collect(folder: &Path, name: &str, files: &mut BTreeMap<String, PathBuf>) -> Outcome {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let Some(last) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let name = format!("{name}/{last}");
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else if name.ends_with(".go") && !name.ends_with("_test.go") {
            files.insert(name, path);
        }
    }
    Ok(())
}

/// The files that a citation may mean: those whose name ends in it.
fn matching<'a>(files: &'a BTreeMap<String, PathBuf>, cited: &str) -> Vec<&'a str> {
    let ending = format!("/{cited}");
    files.keys().map(String::as_str).filter(|name| name.ends_with(&ending)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_go_files_are_found_in_prose() {
        let text = "as `endpoints_controller.go` `syncService` (pkg/registry/core/service/storage/storage.go), x_test.go.";
        let found: Vec<String> = go_files(text).into_iter().collect();
        assert_eq!(found, ["endpoints_controller.go", "pkg/registry/core/service/storage/storage.go"]);
        let files = ["k8s.io/a/x.go", "k8s.io/b/x.go"].map(|name| (name.to_owned(), PathBuf::new())).into();
        assert_eq!(matching(&files, "b/x.go"), ["k8s.io/b/x.go"]);
        assert_eq!(matching(&files, "x.go").len(), 2);
    }
}
