//! Subcommands about the command line itself.

use std::fs;
use std::process::Command;

use crate::program::program;

/// Checked by `mandoc`: `MANDOC`, which `hack/test` sets, or the one on `PATH`, if there is one.
#[test]
fn man_pages_pass_the_lint() {
    let directory = tempfile::tempdir().unwrap();
    let run = program(&["man", directory.path().to_str().unwrap()]);
    assert_eq!((run.code, &*run.stderr), (0, ""));
    let mut pages: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|page| page.unwrap().path()).collect();
    pages.sort();
    let names = pages.iter().map(|page| page.file_name().unwrap().to_str().unwrap());
    assert!(names.clone().any(|name| name == "kubectl-endpoints-explain.1"), "{pages:?}");
    let named = std::env::var_os("MANDOC");
    let mandoc = named.clone().unwrap_or_else(|| "mandoc".into());
    let checked = Command::new(&mandoc).args(["-T", "lint", "-W", "warning"]).args(&pages).output();
    match checked {
        Ok(checked) => {
            let text = String::from_utf8_lossy(&checked.stdout).into_owned();
            assert!(checked.status.success(), "{text}{}", String::from_utf8_lossy(&checked.stderr));
        }
        Err(error) if named.is_none() => println!("no lint: mandoc: {error}"),
        Err(error) => panic!("{}: {error}", mandoc.display()),
    }
}

#[test]
fn completion_needs_a_shell_that_it_knows() {
    assert!(program(&["completion", "bash"]).stdout.contains("kubectl-endpoints"));
    let run = program(&["completion", "tcsh"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("must be bash, elvish, fish, powershell or zsh"), "{}", run.stderr);
}
