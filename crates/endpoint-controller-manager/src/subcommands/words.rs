//! The words of subcommands without flags of the program.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, Command};

use crate::{diagnostics, options};

/// Reads the words of a subcommand without flags of the program.
///
/// # Errors
///
/// The end of the process: after the help that was asked for, or a line about the word that is wrong.
pub(super) fn matches(command: Command, words: &[OsString]) -> Result<ArgMatches, ExitCode> {
    diagnostics::matches(command, words).map_err(|outcome| match outcome {
        options::Parsed::Print(text) => options::print(&text),
        options::Parsed::Error(message) => options::print_error(&message),
        options::Parsed::Run(_) => ExitCode::FAILURE,
    })
}
