//! The commit in `--version`, from each form in which the sources are handed on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../build/commit.rs"]
mod of_sources;

use of_sources::of;

const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

/// A directory of ours without a commit: `root`, and the package in it.
fn sources() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let package = root.path().join("crates/program");
    fs::create_dir_all(package.join("build")).unwrap();
    fs::write(package.join("build/archive-commit"), include_str!("../../build/archive-commit")).unwrap();
    (root, package)
}

fn git(root: &Path, arguments: &[&str]) -> String {
    let user = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgSign=false"];
    let output = Command::new("git").arg("-C").arg(root).args(user).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_checkout_tells_its_commit_and_whether_it_has_changes() {
    let (root, package) = sources();
    let root = root.path();
    git(root, &["init", "--quiet"]);
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "--message", "one"]);
    let head = git(root, &["rev-parse", "HEAD"]);
    let found = of(&package, true);
    assert_eq!((&found.hash, found.tree_state), (&head, "clean"));
    assert!(found.read.iter().all(|path| path.exists() || path.ends_with("Cargo.toml")), "{:?}", found.read);

    fs::write(package.join("build/archive-commit"), "changed").unwrap();
    assert_eq!(of(&package, true).tree_state, "dirty");
    assert_eq!(of(&package, false).hash, "", "debug builds don't ask");
}

#[test]
fn an_archive_tells_its_commit() {
    let (root, _) = sources();
    let attributes =
        include_str!("../../../../.gitattributes").replace("endpoint-controller-manager", "program");
    fs::write(root.path().join(".gitattributes"), attributes).unwrap();
    git(root.path(), &["init", "--quiet"]);
    git(root.path(), &["add", "."]);
    git(root.path(), &["commit", "--quiet", "--message", "one"]);
    let head = git(root.path(), &["rev-parse", "HEAD"]);
    let archive = root.path().join("archive.tar");
    git(root.path(), &["archive", "--output", archive.to_str().unwrap(), "HEAD"]);

    let unpacked = tempfile::tempdir().unwrap();
    let status =
        Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(unpacked.path()).status().unwrap();
    assert!(status.success());
    let found = of(&unpacked.path().join("crates/program"), true);
    assert_eq!((&found.hash, found.tree_state), (&head, "archive"));
}

#[test]
fn another_package_with_this_build_script_tells_the_commit_of_the_archive() {
    let (root, _) = sources();
    let packages = root.path().join("crates");
    fs::create_dir_all(packages.join("endpoint-controller-manager/build")).unwrap();
    fs::write(packages.join("endpoint-controller-manager/build/archive-commit"), HASH).unwrap();
    fs::create_dir(packages.join("other")).unwrap();
    let found = of(&packages.join("other"), true);
    assert_eq!((found.hash.as_str(), found.tree_state), (HASH, "archive"));
}

#[test]
fn a_copy_inside_another_repository_has_no_commit() {
    let (root, package) = sources();
    let vendored = root.path().join("vendor/ours/crates/program");
    fs::create_dir_all(&vendored).unwrap();
    git(root.path(), &["init", "--quiet"]);
    git(root.path(), &["add", "."]);
    git(root.path(), &["commit", "--quiet", "--message", "one"]);
    assert_eq!(of(&vendored, true).hash, "");
    assert_ne!(of(&package, true).hash, "");
}
