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
mod configz;
mod errors;
pub(crate) mod flag;
pub(crate) mod groups;
mod settings;
mod value_syntax;
pub(crate) mod values;

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use cli_runtime::usage::{Usage, matches};

use crate::config::Config;
use crate::version;
pub use command::build as command;
use complete::complete;
use errors::Errors;
use value_syntax::VersionRequest;
use values::FlagValues;

/// Reads the words after the program's name, and the configuration file that they name.
pub fn parse<T: Into<OsString>>(words: impl IntoIterator<Item = T>) -> Result<Config, Usage> {
    parse_extended(words, Vec::new(), |command| command).map(|(_, config)| config)
}

/// The same for a subcommand, which has flags of its own and is given its texts by `shape`.
pub fn parse_extended<T: Into<OsString>>(
    words: impl IntoIterator<Item = T>,
    own: Vec<Arg>,
    shape: impl FnOnce(Command) -> Command,
) -> Result<(ArgMatches, Config), Usage> {
    let words = command::normalized(words, &own);
    read(shape(command::build(own)), &words).map_err(|usage| match usage {
        Usage::Error(reason) => Usage::Error(one_line(&reason)),
        print @ Usage::Print(_) => print,
    })
}

/// Reads the words of a process on another machine, whose configuration file cannot be read here. The error is one line.
pub fn parse_remote<T: Into<OsString>>(words: impl IntoIterator<Item = T>) -> Result<Config, String> {
    let matches = matches(command::build(Vec::new()), &command::normalized(words, &[]));
    let values =
        FlagValues::new(&matches.map_err(|(Usage::Print(text) | Usage::Error(text))| one_line(&text))?);
    if let Some(file) = values.settings(&mut Errors::default()).config_file {
        return Err(one_line(&format!("--config={} is a file of its machine", file.display())));
    }
    complete(&values, Vec::new()).map_err(|reason| one_line(&reason))
}

/// Shows in the help of a subcommand its own flags, which stand under `heading`, those of the controllers, and these of the
/// program; and gives some of them other texts.
pub fn show_flags(
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

fn read(command: Command, words: &[OsString]) -> Result<(ArgMatches, Config), Usage> {
    let matches = matches(command, words)?;
    let values = FlagValues::new(&matches);
    // Errors are found again below, together with those of the file.
    let settings = values.settings(&mut Errors::default());
    match settings.version {
        VersionRequest::None => {}
        VersionRequest::Line => return Err(Usage::Print(version::line(version::NAME))),
        VersionRequest::Raw => return Err(Usage::Print(version::raw())),
    }
    let config = match settings.config_file {
        Some(file) => with_file(&file, values),
        None => complete(&values, Vec::new()),
    };
    Ok((matches, config.map_err(Usage::Error)?))
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

#[cfg(test)]
mod tests;
