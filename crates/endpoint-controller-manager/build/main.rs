//! Hands the commit of the sources to the compiler, for `--version` and `kubernetes_build_info`.

#![allow(clippy::expect_used, reason = "cargo sets these variables for each build script")]

mod commit;

use std::env;
use std::path::Path;

fn main() {
    let package = env::var("CARGO_MANIFEST_DIR").expect("CARGO_MANIFEST_DIR is set");
    // A debug build of a checkout names no commit: it would be compiled again after each one.
    let released = env::var("PROFILE").expect("PROFILE is set") == "release";
    let found = commit::of(Path::new(&package), released);
    println!("cargo::rustc-env=ECM_COMMIT={}", found.hash);
    println!("cargo::rustc-env=ECM_TREE_STATE={}", found.tree_state);
    for path in found.read {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
