//! Manifests and command lines that are wrong.

use std::fs;

use crate::program::{Run, of_manifest, simulate};

/// A manifest is refused with these lines, and nothing is printed on stdout.
fn assert_refused(manifest: &str, lines: &[&str]) {
    let Run { code, stdout, stderr } = of_manifest(manifest, &[]);
    assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
    let expected: Vec<String> = lines.iter().map(|line| format!("Error: stdin: {line}")).collect();
    assert_eq!(stderr.lines().collect::<Vec<_>>(), expected, "{manifest}");
}

fn service(ports: &str) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n{ports}")
}

#[test]
fn invalid_fields() {
    let two = format!(
        "{}---\n{}",
        service("  - port: 80\n"),
        service("  - port: 70000\n    targetPort: 1\n").replace("web", "b")
    );
    assert_refused(
        &two,
        &[
            "document 2: spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive (line 15)",
        ],
    );
    let no_name = "apiVersion: v1\nkind: Node\nmetadata: {}\n";
    let expected = "document 1: metadata.name: Required value: name or generateName is required (line 3)";
    assert_refused(no_name, &[expected]);
}

#[test]
fn wrong_types_and_unknown_fields() {
    assert_refused(
        &service("  - name: a\n    port: \"x\"\n"),
        &["document 1: spec.ports.port: must be of type int32, not string (line 8)"],
    );
    assert_refused(
        &service("  - port: 80\n    protcol: TCP\n    nam: a\n"),
        &[
            "document 1: spec.ports[0].nam: unknown field (line 9)",
            "document 1: spec.ports[0].protcol: unknown field (line 8)",
        ],
    );
}

#[test]
fn errors_in_lists_and_templates() {
    let items = service("  - port: 0\n    targetPort: 1\n").replace('\n', "\n  ");
    assert_refused(
        &format!("apiVersion: v1\nkind: List\nitems:\n- {items}\n"),
        &[
            "document 1: items[0].spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive (line 10)",
        ],
    );
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: lots\n  template:\n    \
                      spec: {containers: []}\n";
    let run = of_manifest(deployment, &[]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("spec.replicas"), "{}", run.stderr);
    assert!(run.stderr.contains("(line 5)"), "{}", run.stderr);
}

#[test]
fn the_same_name_twice() {
    let twice = format!("{}---\n{}", service("  - port: 80\n"), service("  - port: 81\n"));
    assert_refused(&twice, &["document 2: Service web is there twice, with different contents (line 9)"]);
}

#[test]
fn all_bad_objects_are_listed_in_order() {
    let bad = |name: &str| service("  - port: 0\n    targetPort: 1\n").replace("web", name);
    let run = of_manifest(&[bad("a"), bad("b"), bad("c")].join("---\n"), &[]);
    let documents: Vec<&str> = run.stderr.lines().filter_map(|line| line.split(": ").nth(2)).collect();
    assert_eq!(documents, ["document 1", "document 2", "document 3"], "{}", run.stderr);
}

#[test]
fn files_are_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("bad.yaml"), "a: [").unwrap();
    let run = simulate(directory.path(), &["-f", "bad.yaml"], "");
    assert!(run.stderr.starts_with("Error: bad.yaml: document 1: "), "{}", run.stderr);
    let run = simulate(directory.path(), &["-f", "missing.yaml"], "");
    assert_eq!(run.stderr, "Error: missing.yaml: cannot read: No such file or directory (os error 2)\n");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    let run = simulate(directory.path(), &["-f", "\u{1b}[2J\u{202e}.yaml"], "");
    assert!(run.stderr.starts_with("Error: \\u{1b}[2J\\u{202e}.yaml: cannot read: "), "{}", run.stderr);
}

/// The messages are in `testdata/refused-lines.txt`.
#[test]
fn command_lines() {
    let Run { code, stdout, stderr } = simulate("/".as_ref(), &[], "");
    let expected = "Error: -f names no file: give a file, a directory, or - for stdin\n";
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (1, "", expected));
}
