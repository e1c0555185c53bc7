//! The command line and the configuration file, from words to a checked configuration.
//!
//! Names, defaults, forms and messages are kube-controller-manager's (`github.com/spf13/pflag` over `k8s.io/component-base`),
//! so that its command line can be copied: `_` for `-`, the last of several values, Go's numbers and durations,
//! `--flag=false`. A flag takes precedence over the configuration file, and the file over the default.
//!
//! ```text
//! groups (one entry for each flag) ─> command (clap) ─> values (texts) ─> settings (typed) ─> complete ─> Config
//!                                     config_file ────────^
//! ```

mod command;
mod complete;
pub(crate) mod config_file;
mod errors;
pub(crate) mod flag;
pub(crate) mod groups;
mod parse;
mod settings;
pub(crate) mod usage_error;
pub(crate) mod values;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};

use crate::config::{Config, ConfigFile};
use crate::version;
pub(crate) use command::build as command;
use complete::complete;
use errors::Errors;
use parse::VersionRequest;
use values::FlagValues;

/// The outcome of a command line.
pub(crate) enum Parsed {
    /// Run with this configuration.
    Run(Box<Config>),
    /// Print this and succeed.
    Print(String),
    /// Fail with this message of one line.
    Error(String),
}

/// Reads the command line, and the configuration file that it names.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Parsed {
    match parse_extended(arguments, Vec::new(), |command| command) {
        Ok((_, config)) => Parsed::Run(Box::new(config)),
        Err(other) => other,
    }
}

/// The same for a subcommand, which has flags of its own and is given its texts by `shape`.
///
/// # Errors
/// The outcome, if it is not to run.
pub(crate) fn parse_extended(
    arguments: impl Iterator<Item = OsString>,
    own: Vec<Arg>,
    shape: impl FnOnce(Command) -> Command,
) -> Result<(ArgMatches, Config), Parsed> {
    let read = read(shape(command::build(own)), arguments);
    read.unwrap_or_else(|reason| Err(Parsed::Error(one_line(&reason))))
}

/// Reads the command line of a process on another machine, whose configuration file cannot be read here.
///
/// # Errors
/// One line about what is wrong with it, or about that file.
pub(crate) fn parse_remote(arguments: impl Iterator<Item = OsString>) -> Result<Config, String> {
    let matches = command::build(Vec::new()).try_get_matches_from(command::normalized(arguments));
    let values = FlagValues::new(&matches.map_err(|error| one_line(&usage_error::message(&error)))?);
    let file = values.settings(&mut Errors::default()).config_file;
    if !file.is_empty() {
        return Err(one_line(&format!("--config={file} is a file of its machine")));
    }
    complete(&values, Vec::new()).map_err(|reason| one_line(&reason))
}

/// Shows in the help of a subcommand its own flags, which stand under `heading`, those of the controllers, and these of the
/// program; and gives some of them other texts.
pub(crate) fn show_flags(
    command: Command,
    heading: &str,
    shown: &[&str],
    texts: &[(&str, &'static str)],
) -> Command {
    command.mut_args(|arg| {
        let name = arg.get_id().as_str().to_owned();
        let under = arg.get_help_heading().unwrap_or_default();
        let is_shown = under == heading || under.ends_with("-controller flags") || shown.contains(&&*name);
        let arg = if is_shown { arg } else { arg.hide(true) };
        match texts.iter().find(|(flag, _)| *flag == name) {
            Some((_, text)) => arg.help(*text),
            None => arg,
        }
    })
}

fn read(
    command: Command,
    arguments: impl Iterator<Item = OsString>,
) -> Result<Result<(ArgMatches, Config), Parsed>, String> {
    let matches = match command.try_get_matches_from(command::normalized(arguments)) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            return Ok(Err(Parsed::Print(error.to_string())));
        }
        Err(error) => return Err(usage_error::message(&error)),
    };
    let values = FlagValues::new(&matches);
    // Errors are found again below, together with those of the file.
    let settings = values.settings(&mut Errors::default());
    match settings.version {
        VersionRequest::None => {}
        VersionRequest::Line => return Ok(Err(Parsed::Print(version::line()))),
        VersionRequest::Raw => return Ok(Err(Parsed::Print(version::raw()))),
    }
    let config = if settings.config_file.is_empty() {
        complete(&values, Vec::new())?
    } else {
        let path = PathBuf::from(settings.config_file);
        let config = with_file(&path, values.clone())?;
        let reread = {
            let path = path.clone();
            move || with_file(&path, values.clone()).map_err(|reason| one_line(&reason))
        };
        Config { file: Some(ConfigFile::new(path, reread)), ..config }
    };
    Ok(Ok((matches, config)))
}

/// The configuration of a file beneath the values of a command line.
fn with_file(path: &Path, mut values: FlagValues) -> Result<Config, String> {
    let file = config_file::read(path)?;
    for config_file::Field { path: field, line, flag, text } in file.fields {
        let named = format!("{}: {field}", config_file::place(path, line));
        let checked = values.set_from_file(flag, &text, named.clone());
        checked.map_err(|error| format!("{named}: {error}"))?;
    }
    let ignored = file.without_effect.iter().map(|field| format!("{}: {field}", path.display())).collect();
    complete(&values, ignored)
}

/// A message without the line breaks and terminal codes that the input may have brought into it.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace(char::is_control, "?")
}

/// Prints an answer.
pub(crate) fn print(text: &str) -> ExitCode {
    // A reader that has gone away (`--help | head`) is not a failure.
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
    ExitCode::SUCCESS
}

/// Prints what is wrong with the command line. The exit code is upstream's.
pub(crate) fn print_error(message: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "Error: {message}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests;
