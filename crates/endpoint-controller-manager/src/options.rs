//! The command line and the configuration file, as they were written.
//!
//! Names, defaults, forms and messages are kube-controller-manager's (`github.com/spf13/pflag` over `k8s.io/component-base`),
//! so that its command line can be copied: `_` for `-`, the last of several values, Go's numbers and durations,
//! `--flag=false`. What is written in a configuration file counts as if it stood before the command line.

mod accepted;
mod command;
pub(crate) mod flags;
mod ignored;
mod refusal;
mod values;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, FromArgMatches};

use accepted::VersionRequest;
use flags::Flags;
pub(crate) use values::FlagValues;

use crate::config_file;
use crate::version;

/// What the command line asks for.
pub(crate) enum Parsed {
    /// Run with these options.
    Run(Box<Options>),
    /// Print this and succeed.
    Answer(String),
    /// Refuse, with this reason.
    Refused(String),
}

/// What was written, not yet checked beyond its types.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) flags: Flags,
    /// Every flag with its value.
    pub(crate) values: FlagValues,
    /// Flags and fields of the file that were given and do nothing here.
    pub(crate) without_effect: Vec<String>,
    /// For values that come from the file: where they stand in it, by flag.
    pub(crate) origins: BTreeMap<&'static str, String>,
}

/// Reads the command line, and the configuration file that it names.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Parsed {
    let command = command::build();
    let words = command::normalized(&command, arguments);
    read(&command, &words).unwrap_or_else(|reason| Parsed::Refused(one_line(&reason)))
}

fn read(command: &Command, words: &[OsString]) -> Result<Parsed, String> {
    let typed = match command.clone().try_get_matches_from(words) {
        Ok(typed) => typed,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            return Ok(Parsed::Answer(error.to_string()));
        }
        Err(error) => return Err(refusal::reason(&error)),
    };
    let mut options = Options::new(command, &typed)?;
    match options.flags.global.version {
        VersionRequest::Nothing => {}
        VersionRequest::Line => return Ok(Parsed::Answer(version::line())),
        VersionRequest::Raw => return Ok(Parsed::Answer(version::raw())),
    }
    let path = options.flags.own.config.clone();
    if !path.is_empty() {
        options = options.with_file(command, words, &typed, &path)?;
    }
    Ok(Parsed::Run(Box::new(options)))
}

impl Options {
    fn new(command: &Command, matches: &ArgMatches) -> Result<Self, String> {
        Ok(Self {
            flags: Flags::from_arg_matches(matches).map_err(|error| error.to_string())?,
            values: FlagValues::new(command, matches),
            without_effect: ignored::given(matches).into_iter().map(|name| format!("--{name}")).collect(),
            origins: BTreeMap::new(),
        })
    }

    /// The same command line behind the words that the file stands for.
    fn with_file(
        self,
        command: &Command,
        words: &[OsString],
        typed: &ArgMatches,
        path: &str,
    ) -> Result<Self, String> {
        let file = config_file::read(Path::new(path))?;
        let named = |field: &str| format!("{path}: {field}");
        let (mut without_effect, mut origins) = (self.without_effect, BTreeMap::new());
        without_effect.extend(file.without_effect.iter().map(|field| named(field)));
        let mut all: Vec<OsString> = words.iter().take(1).cloned().collect();
        for field in file.fields {
            let word = OsString::from(format!("--{}={}", field.flag, field.text));
            // Each by itself, so that the message names the field.
            if let Err(error) = command.clone().try_get_matches_from([OsString::new(), word.clone()]) {
                return Err(format!("{}: {}", named(&field.path), refusal::cause(&error)));
            }
            // Flags win. Lists would grow instead.
            if typed.value_source(command::id(command, field.flag)) == Some(ValueSource::CommandLine) {
                continue;
            }
            if ignored::contains(field.flag) {
                without_effect.push(named(&field.path));
            }
            origins.insert(field.flag, named(&field.path));
            all.push(word);
        }
        all.extend(words.iter().skip(1).cloned());
        let matches = command.clone().try_get_matches_from(all).map_err(|error| refusal::reason(&error))?;
        Ok(Self { without_effect, origins, ..Self::new(command, &matches)? })
    }
}

/// What a message says, whatever line breaks and terminal codes the input brought into it.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace(char::is_control, "?")
}

/// Prints what was asked for.
pub(crate) fn print_answer(text: &str) -> ExitCode {
    // A reader that has gone away (`--help | head`) is not a failure.
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
    ExitCode::SUCCESS
}

/// Says in one line what is wrong with the command line. The exit code is upstream's.
pub(crate) fn print_refusal(reason: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "Error: {reason}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests;
