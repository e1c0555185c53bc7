//! All commands: `docs/reference/kubectl-endpoints.md` names them and each exit code, and wrong command lines are refused.

use std::ffi::OsString;

use cli_runtime::usage::Usage;

use crate::exit::TABLE;
use crate::handover::Goal;
use crate::{PROGRAM, audit, explain, handover, preflight, simulate};

#[test]
fn the_document_has_each_command_and_exit_code() {
    let page = include_str!("../../../docs/reference/kubectl-endpoints.md");
    let rows = || page.lines().filter(|line| line.starts_with('|'));
    for command in PROGRAM.subcommands {
        let name = format!("[`{}`]", command.name);
        assert!(rows().any(|row| row.contains(&name)), "no row has {name}");
    }
    for (code, _) in TABLE {
        assert!(rows().any(|row| row.starts_with(&format!("| {code} |"))), "no row for {code}");
    }
}

#[test]
fn commands_are_well_formed() {
    PROGRAM.root().debug_assert();
}

/// The help, or the message about a wrong command line.
fn said(line: &str) -> String {
    let mut words = line.split_whitespace();
    let command = words.next();
    let words: Vec<OsString> = words.map(OsString::from).collect();
    let parsed = match command {
        Some("explain") => explain::parse(&words).map(|_| ()),
        Some("audit") => audit::parse(&words).map(|_| ()),
        Some("simulate") => simulate::parse(&words).map(|_| ()),
        Some("preflight") => preflight::parse(&words).map(|_| ()),
        Some("handover") => handover::parse(Goal::Handover, &words).map(|_| ()),
        _ => panic!("no command in {line}"),
    };
    match parsed {
        Err(Usage::Error(text) | Usage::Print(text)) => text,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn wrong_command_lines_are_refused_in_one_line() {
    let lines = include_str!("../testdata/refused-lines.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let (line, reason) = line.split_once(" => ").expect(line);
        let said = said(line);
        assert_eq!(said.lines().count(), 1, "{line}: {said}");
        match reason.strip_suffix("...") {
            Some(beginning) => assert!(said.starts_with(beginning), "{line}: {said}"),
            None => assert_eq!(said, reason, "{line}"),
        }
    }
}

#[test]
fn help_has_the_flags_that_count_and_the_exit_codes() {
    for (command, shown, hidden) in [
        ("explain", &["kubectl endpoints explain [SERVICE...]", "--wait", "--kubeconfig"][..], &[][..]),
        ("preflight", &["--service-account", "--max-endpoints-per-slice"], &["--secure-port"]),
        (
            "simulate",
            &["-f, --filename", "--diff", "--serve", "--feature-gates", "--max-endpoints-per-slice"],
            &["--leader-elect", "--secure-port", "--kube-api-qps"],
        ),
    ] {
        let help = said(&format!("{command} --help"));
        for text in shown.iter().chain(&["Exit codes", "-o, --output"]) {
            assert!(help.contains(text), "{text} in {help}");
        }
        for text in hidden {
            assert!(!help.contains(text), "{text} in {help}");
        }
    }
}
