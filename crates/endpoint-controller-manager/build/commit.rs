//! The commit that sources are of: in a checkout, and in an archive of one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A commit, or empty texts if the sources don't tell.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    /// Its hash in full.
    pub(crate) hash: String,
    /// `clean` or `dirty`, as in Kubernetes' `git_tree_state`; `archive` if nothing tells them apart.
    pub(crate) tree_state: &'static str,
    /// Files and directories that the answer depends on.
    pub(crate) read: Vec<PathBuf>,
}

/// Finds the commit of the package in this directory. Git is asked only if `checkout` says so.
pub(crate) fn of(package: &Path, checkout: bool) -> Commit {
    let own = ["build", "Cargo.toml"].map(|name| package.join(name)).to_vec();
    let mut found = of_archive(package)
        .or_else(|| if checkout { of_checkout(package) } else { None })
        .unwrap_or_default();
    found.read.extend(own.into_iter().filter(|path| path.exists()));
    found
}

/// `git archive`, which also makes a forge's archives, replaces the content of a file (`.gitattributes`). One package has it, for
/// the others with this build script too.
fn of_archive(package: &Path) -> Option<Commit> {
    let files = ["build/archive-commit", "../endpoint-controller-manager/build/archive-commit"];
    let file = files.map(|name| package.join(name)).into_iter().find(|file| file.exists())?;
    let hash = hash(std::fs::read_to_string(&file).ok()?.trim())?;
    Some(Commit { hash, tree_state: "archive", read: vec![file] })
}

/// Asks git, if the repository is ours and not that of a program that contains a copy of us.
fn of_checkout(package: &Path) -> Option<Commit> {
    let root = package.parent()?.parent()?;
    root.join(".git").exists().then_some(())?;
    let hash = hash(git(root, &["rev-parse", "HEAD"])?.trim())?;
    let changed = git(root, &["status", "--porcelain", "--untracked-files=no"])?;
    let tree_state = if changed.is_empty() { "clean" } else { "dirty" };
    // Changes with each commit and checkout. Without it, cargo would look only at what the package itself contains.
    let log = root.join(git(root, &["rev-parse", "--git-path", "logs/HEAD"])?.trim());
    let read = [log, root.join("crates"), root.join("Cargo.toml"), root.join("Cargo.lock")];
    Some(Commit { hash, tree_state, read: read.into_iter().filter(|path| path.exists()).collect() })
}

fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(directory).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok())?
}

fn hash(text: &str) -> Option<String> {
    let known = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    known.then(|| text.to_owned())
}
