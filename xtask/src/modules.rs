//! The Go modules of hack/: what servers, generators and tables are compiled from.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use crate::release::Release;
use crate::repository::{Outcome, Repository};

const FOLDERS: [&str; 3] = ["hack/testenv", "hack/golden", "hack/fixtures"];
const KUBERNETES: &str = "k8s.io/kubernetes";

/// A module in Go's cache (`go mod download -json`).
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Module {
    /// Its sources.
    pub(crate) dir: PathBuf,
    info: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Info {
    time: String,
}

/// Downloads a module.
pub(crate) fn download(repository: &Repository, path: &str, version: &str) -> Outcome<Module> {
    let module = format!("{path}@{version}");
    // Outside of any module, whose replacements would count.
    let output = repository.output("go", &["-C", "/", "mod", "download", "-json", &module], ".")?;
    serde_json::from_str(&output).map_err(|error| format!("{module}: {error}"))
}

/// The release that the servers are built from: the source of the release for all else.
pub(crate) fn current(repository: &Repository) -> Outcome<Release> {
    let text = repository.read("hack/testenv/go.mod")?;
    let version = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{KUBERNETES} ")));
    version.ok_or("hack/testenv/go.mod names no release")?.parse()
}

/// The libraries that are released with Kubernetes, by its own go.mod.
pub(crate) fn staging(module: &Module) -> Outcome<Vec<String>> {
    let text = fs::read_to_string(module.dir.join("go.mod")).map_err(|error| format!("go.mod: {error}"))?;
    let replaced = |line: &str| line.trim().split_once(" => ./staging/src/").map(|(name, _)| name.to_owned());
    Ok(text.lines().filter_map(replaced).collect())
}

/// Pins another release in the three go.mod, and the time of its tag in the build script.
pub(crate) fn update(repository: &Repository, from: &Release, to: &Release) -> Outcome {
    let module = download(repository, KUBERNETES, &to.to_string())?;
    let libraries = staging(&module)?;
    for folder in FOLDERS {
        let name = format!("{folder}/go.mod");
        let text = rewritten(&repository.read(&name)?, from, to, &libraries);
        repository.write(&name, &text)?;
        repository.run("go", &["mod", "tidy"], folder)?;
    }
    let info =
        fs::read_to_string(&module.info).map_err(|error| format!("{}: {error}", module.info.display()))?;
    let info: Info = serde_json::from_str(&info).map_err(|error| error.to_string())?;
    let build = repository.read("hack/testenv/build")?;
    let lines = build.lines().map(|line| match line.split_once("kube_date=") {
        Some((begin, _)) => format!("{begin}kube_date={}\n", info.time),
        None => format!("{line}\n"),
    });
    repository.write("hack/testenv/build", &lines.collect::<String>())
}

/// A go.mod with the libraries of another release. Its replacements are those that Kubernetes has itself.
fn rewritten(text: &str, from: &Release, to: &Release, libraries: &[String]) -> String {
    let (mut lines, mut replaces) = (Vec::new(), false);
    for line in text.lines() {
        if line == "replace (" {
            replaces = true;
            lines.push(line.to_owned());
            let staging = to.staging();
            lines.extend(libraries.iter().map(|name| format!("\t{name} => {name} {staging}")));
        } else if replaces && line.contains(" => k8s.io/") {
            // One of those above, or of the past.
        } else {
            replaces &= line != ")";
            let line = line.replace(&format!("{KUBERNETES} {from}"), &format!("{KUBERNETES} {to}"));
            let is_library = line.trim_start().starts_with("k8s.io/");
            let staging =
                |line: String| line.replace(&format!(" {}", from.staging()), &format!(" {}", to.staging()));
            lines.push(if is_library { staging(line) } else { line });
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_and_replacements_follow_the_release() {
        let before = "require (\n\tgopkg.in/x v0.36.3\n\tk8s.io/api v0.36.3\n\tk8s.io/kubernetes v1.36.3\n)\n\n\
                      replace (\n\tk8s.io/api => k8s.io/api v0.36.3\n\tk8s.io/gone => k8s.io/gone v0.36.3\n)\n";
        let after = "require (\n\tgopkg.in/x v0.36.3\n\tk8s.io/api v0.37.2\n\tk8s.io/kubernetes v1.37.2\n)\n\n\
                     replace (\n\tk8s.io/api => k8s.io/api v0.37.2\n\tk8s.io/new => k8s.io/new v0.37.2\n)\n";
        let [from, to] = ["v1.36.3", "v1.37.2"].map(|text| text.parse().unwrap());
        let libraries = ["k8s.io/api", "k8s.io/new"].map(str::to_owned);
        assert_eq!(rewritten(before, &from, &to, &libraries), after);
    }
}
