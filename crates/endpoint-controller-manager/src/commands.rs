//! The program with its subcommands.

pub(crate) mod config_check;
pub(crate) mod shadow;

use cli_runtime::{Names, Program, Subcommand};

use crate::{options, version};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    names: Names { executable: version::NAME, usage: version::NAME },
    command: || options::command(Vec::new()),
    subcommands: &[
        Subcommand {
            name: shadow::NAME,
            summary: "Compare a cluster with what the controllers would write, and write nothing",
            command: shadow::command,
            run: shadow::main,
        },
        Subcommand {
            name: config_check::NAME,
            summary: "Check a configuration file",
            command: config_check::command,
            run: config_check::main,
        },
    ],
};

#[test]
fn commands_are_well_formed() {
    PROGRAM.root().debug_assert();
}
