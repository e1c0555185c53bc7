//! The Go modules of a release, in each go.mod that names them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::release::Release;
use crate::shell::{self, Error};

/// The directories of our Go modules that are compiled with modules of Kubernetes.
const OURS: [&str; 3] = ["hack/testenv", "hack/golden", "hack/fixtures"];

/// The release that hack/testenv/go.mod names: the one place in this repository that decides it.
pub(crate) fn present() -> Result<Release, Error> {
    let text = shell::read("hack/testenv/go.mod")?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
    let release = line.map(|version| Release::parse(version.trim()));
    release
        .unwrap_or_else(|| Err("it names no k8s.io/kubernetes".to_owned()))
        .map_err(|problem| Error::Other(format!("hack/testenv/go.mod: {problem}")))
}

/// A module in the cache of Go.
pub(super) struct Module {
    /// Its files.
    pub(super) directory: PathBuf,
    /// The time of its release, in RFC 3339.
    pub(super) time: String,
}

/// Downloads a module.
pub(super) fn download(path: &str, version: &str) -> Result<Module, Error> {
    let name = format!("{path}@{version}");
    let problem = |what: &dyn std::fmt::Display| Error::Other(format!("go mod download {name}: {what}"));
    let printed = shell::output(&["go", "-C", "hack/testenv", "mod", "download", "-json", &name])?;
    let module: Value = serde_json::from_str(&printed).map_err(|error| problem(&error))?;
    let field = |of: &Value, key: &str| {
        let text = of.get(key).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| problem(&format!("no field {key}")))
    };
    let directory = PathBuf::from(field(&module, "Dir")?);
    let info = shell::read(field(&module, "Info")?)?;
    let info: Value = serde_json::from_str(&info).map_err(|error| problem(&error))?;
    Ok(Module { directory, time: field(&info, "Time")? })
}

/// The modules that are released with Kubernetes, by its go.mod.
pub(super) fn staging(kubernetes: &Path) -> Result<Vec<String>, Error> {
    let text = shell::read(kubernetes.join("go.mod"))?;
    let names = text.lines().filter_map(|line| line.trim().split_once(" => ./staging/src/"));
    Ok(names.map(|(name, _)| name.to_owned()).collect())
}

/// Names the modules of another release in each go.mod, and what they need.
pub(super) fn change(old: &Release, new: &Release) -> Result<(), Error> {
    let kubernetes = download("k8s.io/kubernetes", &format!("v{new}"))?;
    let staging = staging(&kubernetes.directory)?;
    for directory in OURS {
        shell::change(format!("{directory}/go.mod"), |text| rewritten(text, old, new, &staging))?;
        // Tests of Kubernetes use packages that no module has: that stops nothing.
        shell::run(&["go", "-C", directory, "mod", "tidy", "-e"], &[("GOWORK", "off")])?;
    }
    let build = shell::read("hack/testenv/build")?;
    let old = build.lines().find_map(|line| line.strip_prefix("readonly kube_date="));
    let old = old.ok_or_else(|| Error::Other("hack/testenv/build has no kube_date".to_owned()))?;
    for file in ["hack/testenv/build", "crates/embedded-apiserver/src/discovery.rs"] {
        shell::change(file, |text| text.replace(old, &kubernetes.time))?;
    }
    Ok(())
}

/// A go.mod with another release.
fn rewritten(text: &str, old: &Release, new: &Release, staging: &[String]) -> String {
    let replaced = |line: &str| line.contains(" => k8s.io/");
    let mut out = String::new();
    let mut has_list = false;
    for line in text.lines() {
        if replaced(line) {
            // The list may be another one: all of it stands where it began.
            if !has_list {
                let version = new.modules();
                out.extend(staging.iter().map(|name| format!("\t{name} => {name} {version}\n")));
            }
            has_list = true;
            continue;
        }
        let is_released = line.trim().starts_with("k8s.io/");
        let (kubernetes, modules) = (format!("k8s.io/kubernetes v{old}"), format!(" {}", old.modules()));
        if is_released && line.contains(&kubernetes) {
            out += &line.replace(&kubernetes, &format!("k8s.io/kubernetes v{new}"));
        } else if is_released {
            out += &line.replace(&modules, &format!(" {}", new.modules()));
        } else {
            out += line;
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_of_kubernetes_change_and_no_others() {
        let [old, new] = ["1.37.2", "1.38.0"].map(|name| Release::parse(name).unwrap());
        let text = "module m\n\nrequire (\n\tgithub.com/a/b v0.37.2\n\tk8s.io/api v0.37.2\n\tk8s.io/klog/v2 v2.140.0\n\
                    \tk8s.io/kubernetes v1.37.2 // indirect\n)\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.37.2\n\
                    \tk8s.io/gone => k8s.io/gone v0.37.2\n)\n";
        let staging = ["k8s.io/api", "k8s.io/added"].map(str::to_owned);
        let expected = "module m\n\nrequire (\n\tgithub.com/a/b v0.37.2\n\tk8s.io/api v0.38.0\n\tk8s.io/klog/v2 v2.140.0\n\
                        \tk8s.io/kubernetes v1.38.0 // indirect\n)\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.38.0\n\
                        \tk8s.io/added => k8s.io/added v0.38.0\n)\n";
        assert_eq!(rewritten(text, &old, &new, &staging), expected);
        assert_eq!(rewritten(expected, &new, &old, &staging[..1]).matches("0.38").count(), 0);
    }
}
