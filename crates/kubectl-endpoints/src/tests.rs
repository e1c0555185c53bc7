//! `docs/reference/kubectl-endpoints.md` names each command and exit code.

use crate::PROGRAM;
use crate::exit::TABLE;

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
