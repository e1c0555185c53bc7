//! `man`: man pages.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::ValueParser;
use clap::{Arg, Command};
use clap_mangen::Man;

use crate::names::Names;
use crate::usage::{Usage, matches};

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "man";
/// One line for `--help` of the program.
pub(crate) const SUMMARY: &str = "Write man pages";

const ABOUT: &str = "Writes a man page of the program, and one of each subcommand, into a directory";

/// The date of the pages: that of the last change of flags and help.
const DATE: &str = "2026-11-27";

/// The command.
pub(crate) fn command(names: &Names) -> Command {
    let directory = Arg::new("directory")
        .value_name("DIRECTORY")
        .required(true)
        .value_parser(ValueParser::path_buf())
        .help("The directory, such as /usr/local/share/man/man1; it must exist");
    Command::new(NAME).about(ABOUT).override_usage(format!("{} {NAME} DIRECTORY", names.usage)).arg(directory)
}

/// Runs the subcommand with the words after its name. `root` is the program with its subcommands.
pub(crate) fn main(names: &Names, root: Command, words: &[OsString]) -> ExitCode {
    let matches = match matches(command(names), words) {
        Ok(matches) => matches,
        Err(usage) => return usage.report(),
    };
    let Some(directory) = matches.get_one::<PathBuf>("directory") else { return ExitCode::FAILURE };
    match write(root, directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Usage::Error(format!("cannot write man pages into {}: {error}", directory.display())).report()
        }
    }
}

fn write(root: Command, directory: &Path) -> io::Result<()> {
    let mut root = root.disable_help_subcommand(true);
    root.build();
    write_page(&root, directory)
}

/// Writes the page of a command, and those of its subcommands.
fn write_page(command: &Command, directory: &Path) -> io::Result<()> {
    Man::new(command.clone()).date(DATE).generate_to(directory)?;
    command.get_subcommands().try_for_each(|subcommand| write_page(subcommand, directory))
}
