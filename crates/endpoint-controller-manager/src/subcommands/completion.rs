//! `completion`: scripts that complete the command line.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Arg, Command, ValueEnum as _};
use clap_complete::{Shell, generate};

use super::words::matches;
use crate::{options, version};

/// The word that selects this subcommand.
pub(super) const NAME: &str = "completion";

const ABOUT: &str =
    "Prints a script that completes the command line of the program and of its subcommands in a shell";

const AFTER: &str = "Examples:\n  \
     source <(endpoint-controller-manager completion bash)\n  \
     endpoint-controller-manager completion zsh >\"${fpath[1]}/_endpoint-controller-manager\"\n  \
     endpoint-controller-manager completion fish >~/.config/fish/completions/endpoint-controller-manager.fish";

/// The command.
pub(super) fn command() -> Command {
    let shell = Arg::new("shell")
        .value_name("SHELL")
        .required(true)
        .value_parser(shell)
        .help("The shell: bash, elvish, fish, powershell or zsh");
    Command::new(NAME)
        .about(ABOUT)
        .override_usage("endpoint-controller-manager completion SHELL")
        .after_help(AFTER)
        .arg(shell)
}

/// Runs the subcommand with the words after its name. `root` is the program with its subcommands.
pub(super) fn main(words: &[OsString], root: Command) -> ExitCode {
    let matches = match matches(command(), words) {
        Ok(matches) => matches,
        Err(code) => return code,
    };
    let Some(shell) = matches.get_one::<Shell>("shell") else { return ExitCode::FAILURE };
    options::print(&script(*shell, root))
}

fn shell(name: &str) -> Result<Shell, String> {
    Shell::from_str(name, false).map_err(|_| "must be bash, elvish, fish, powershell or zsh".to_owned())
}

pub(super) fn script(shell: Shell, mut root: Command) -> String {
    let mut script = Vec::new();
    generate(shell, &mut root, version::NAME, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
