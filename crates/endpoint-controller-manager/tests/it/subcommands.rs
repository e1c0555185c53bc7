//! Subcommands about the command line itself.

use std::fs;
use std::process::Command;

/// The exit code, stdout and stderr of a run.
fn program(words: &[&str]) -> (i32, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_endpoint-controller-manager"));
    let output = program.args(words).current_dir("/").output().expect("starting the program");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("no signal"), text(output.stdout), text(output.stderr))
}

/// Checked by `mandoc`: `MANDOC`, which `hack/test` sets, or the one on `PATH`, if there is one.
#[test]
fn man_pages_pass_the_lint() {
    let directory = tempfile::tempdir().unwrap();
    let (code, _, stderr) = program(&["man", directory.path().to_str().unwrap()]);
    assert_eq!((code, &*stderr), (0, ""));
    let mut pages: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|page| page.unwrap().path()).collect();
    pages.sort();
    let names = pages.iter().map(|page| page.file_name().unwrap().to_str().unwrap());
    assert!(names.clone().any(|name| name == "endpoint-controller-manager-shadow.1"), "{pages:?}");
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
fn a_configuration_file_is_checked_without_a_cluster() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/endpoint-controller-manager.yaml");
    let (code, stdout, stderr) = program(&["config", "check", sample]);
    assert_eq!((code, &*stderr), (0, ""));
    assert!(stdout.trim_end().ends_with(": valid"), "{stdout}");

    let (code, stdout, stderr) = program(&["config", "check", "/no/such/file"]);
    assert_eq!((code, &*stdout), (1, ""));
    assert!(stderr.starts_with("Error: --config: cannot read /no/such/file"), "{stderr}");
}

#[test]
fn a_log_in_json_ends_in_json() {
    let words = ["--logging-format=json", "--secure-port=0", "--kubeconfig=/no/such/file"];
    let (code, _, stderr) = program(&words);
    let lines: Vec<serde_json::Value> =
        stderr.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let last = lines.last().expect("a line");
    assert_eq!((code, &last["msg"]), (1, &"Command failed".into()));
    assert!(last["err"].as_str().unwrap().contains("/no/such/file"), "{last}");
}

#[test]
fn completion_needs_a_shell_that_it_knows() {
    assert!(program(&["completion", "bash"]).1.contains("endpoint-controller-manager"));
    let (code, _, stderr) = program(&["completion", "tcsh"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("must be bash, elvish, fish, powershell or zsh"), "{stderr}");
}
