//! The upstream files that our rules cite, and how they changed between two releases.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::modules;
use super::release::Release;
use crate::shell::{self, Error};

/// The most files that a citation with a directory means.
const MANY: usize = 3;

/// The directories of other files.
const CONTROLLERS: [&str; 4] = [
    "k8s.io/endpointslice/",
    "k8s.io/kubernetes/pkg/controller/endpoint/",
    "k8s.io/kubernetes/pkg/controller/endpointslice/",
    "k8s.io/kubernetes/pkg/controller/endpointslicemirroring/",
];

/// The cited files that differ, with their differences, in the form of `diff -u`.
pub(super) fn report(old: &Release, new: &Release) -> Result<String, Error> {
    let (before, after) = (files(old)?, files(new)?);
    let cited = cited()?;
    let meant: BTreeMap<&String, &PathBuf> = cited.iter().flat_map(|cited| meant(cited, &before)).collect();
    let (mut differences, mut names) = (String::new(), Vec::new());
    for (name, path) in meant {
        let Some(changed) = after.get(name) else {
            names.push(format!("* {name}: gone"));
            continue;
        };
        let texts = [path, changed].map(|path| fs::read(path).unwrap_or_default());
        if texts[0] != texts[1] {
            names.push(format!("* {name}"));
            differences += &difference(path, changed, name)?;
        }
    }
    let names = if names.is_empty() { "none".to_owned() } else { names.join("\n") };
    Ok(format!(
        "Files of Kubernetes that our sources cite and that differ between {old} and {new}:\n\n{names}\n\n{differences}"
    ))
}

/// Each word of our sources and documents that ends with `.go`.
fn cited() -> Result<BTreeSet<String>, Error> {
    let text = shell::grep(&["-h", "-o", "-E", r"[A-Za-z0-9_./-]+\.go\b", "--", "*.rs", "*.md"])?;
    Ok(text.lines().map(|word| word.trim_start_matches(['.', '/']).to_owned()).collect())
}

/// The files that a citation, which may leave out leading directories, can mean. One that many end with, or a name that
/// several have, means those of the controllers.
fn meant<'a>(cited: &str, files: &'a BTreeMap<String, PathBuf>) -> Vec<(&'a String, &'a PathBuf)> {
    let is_end = |file: &str| {
        file.strip_suffix(cited).is_some_and(|directory| directory.is_empty() || directory.ends_with('/'))
    };
    let mut found: Vec<(&String, &PathBuf)> = files.iter().filter(|(file, _)| is_end(file)).collect();
    let many = if cited.contains('/') { MANY } else { 1 };
    if found.len() > many {
        found.retain(|(file, _)| CONTROLLERS.iter().any(|directory| file.starts_with(directory)));
    }
    found
}

/// The Go files of a release by name, such as `k8s.io/endpointslice/utils.go`.
fn files(release: &Release) -> Result<BTreeMap<String, PathBuf>, Error> {
    let kubernetes = modules::download("k8s.io/kubernetes", &format!("v{release}"))?.directory;
    let mut files = BTreeMap::new();
    for module in modules::staging(&kubernetes)? {
        match modules::download(&module, &release.modules()) {
            Ok(downloaded) => collect(&downloaded.directory, &module, &mut files)?,
            // The proxy may lack one that no program needs, such as an example.
            Err(error) => eprintln!("xtask: left out: {error}"),
        }
    }
    for part in ["cmd", "pkg", "test/e2e/network", "test/integration/endpointslice"] {
        collect(&kubernetes.join(part), &format!("k8s.io/kubernetes/{part}"), &mut files)?;
    }
    Ok(files)
}

fn collect(directory: &Path, name: &str, files: &mut BTreeMap<String, PathBuf>) -> Result<(), Error> {
    let failed = |error| Error::File { path: directory.to_owned(), error };
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, name) = (entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy()));
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else if path.extension().is_some_and(|extension| extension == "go") {
            files.insert(name, path);
        }
    }
    Ok(())
}

fn difference(old: &Path, new: &Path, name: &str) -> Result<String, Error> {
    let output = std::process::Command::new("diff")
        .args(["-u", "--label", &format!("old/{name}"), "--label", &format!("new/{name}")])
        .args([old, new])
        .output();
    let output =
        output.map_err(|error| Error::Command { command: "diff".to_owned(), reason: error.to_string() })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_means_the_files_that_end_with_it() {
        let [mirroring, validation, x509] = [
            "k8s.io/kubernetes/pkg/controller/endpointslicemirroring/reconciler.go",
            "k8s.io/kubernetes/pkg/apis/core/validation/events.go",
            "k8s.io/apiserver/pkg/authentication/request/x509/x509.go",
        ];
        let others = ["a", "b", "c", "d"].map(|name| format!("k8s.io/{name}/metrics/metrics.go"));
        let names =
            [mirroring, validation, x509, "k8s.io/api/events.go", "k8s.io/endpointslice/metrics/metrics.go"];
        let names = names.map(str::to_owned);
        let files = names.into_iter().chain(others).map(|name| (name, PathBuf::new())).collect();
        for (cited, expected) in [
            ("reconciler.go", vec![mirroring]),
            ("endpointslicemirroring/reconciler.go", vec![mirroring]),
            ("mirroring/reconciler.go", vec![]),
            (mirroring, vec![mirroring]),
            ("events.go", vec![]),
            ("x509.go", vec![x509]),
            ("validation/events.go", vec![validation]),
            ("metrics/metrics.go", vec!["k8s.io/endpointslice/metrics/metrics.go"]),
        ] {
            let found: Vec<&String> = meant(cited, &files).into_iter().map(|(name, _)| name).collect();
            assert_eq!(found, expected, "{cited}");
        }
    }

    #[test]
    fn sources_cite_the_controllers() {
        let cited = cited().unwrap();
        for name in ["endpoints_controller.go", "topologycache.go", "pkg/proxy/endpointslicecache.go"] {
            assert!(cited.contains(name), "{name}");
        }
    }
}
