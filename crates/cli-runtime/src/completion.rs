//! `completion`: scripts that complete the command line.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Arg, Command, ValueEnum as _};
use clap_complete::{Shell, generate};

use crate::names::Names;
use crate::usage::{Usage, matches};

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "completion";
/// One line for `--help` of the program.
pub(crate) const SUMMARY: &str = "Print a script that completes the command line in a shell";

const ABOUT: &str =
    "Prints a script that completes the command line of the program and of its subcommands in a shell";

/// The command.
pub(crate) fn command(Names { executable, usage }: &Names) -> Command {
    let shell = Arg::new("shell")
        .value_name("SHELL")
        .required(true)
        .value_parser(shell)
        .help("The shell: bash, elvish, fish, powershell or zsh");
    Command::new(NAME)
        .about(ABOUT)
        .override_usage(format!("{usage} {NAME} SHELL"))
        .after_help(format!(
            "Examples:\n  source <({executable} {NAME} bash)\n  \
             {executable} {NAME} zsh >\"${{fpath[1]}}/_{executable}\"\n  \
             {executable} {NAME} fish >~/.config/fish/completions/{executable}.fish"
        ))
        .arg(shell)
}

/// Runs the subcommand with the words after its name. `root` is the program with its subcommands.
pub(crate) fn main(names: &Names, root: Command, words: &[OsString]) -> ExitCode {
    let matches = match matches(command(names), words) {
        Ok(matches) => matches,
        Err(usage) => return usage.report(),
    };
    let Some(shell) = matches.get_one::<Shell>("shell") else { return ExitCode::FAILURE };
    Usage::Print(script(names, root, *shell)).report()
}

fn shell(name: &str) -> Result<Shell, String> {
    Shell::from_str(name, false).map_err(|_| "must be bash, elvish, fish, powershell or zsh".to_owned())
}

pub(crate) fn script(names: &Names, mut root: Command, shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut root, names.executable, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
