//! Command lines that run nothing: help that was asked for, and what is wrong, in pflag's words.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write as _;
use std::iter;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};

/// The end of a command line that is not to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Print this and succeed.
    Print(String),
    /// Fail with this message of one line.
    Error(String),
}

impl Usage {
    /// Prints the text to stdout, or the message to stderr. The exit code is kube-controller-manager's.
    #[expect(clippy::disallowed_methods, reason = "clap's text, with the words of the user")]
    pub fn report(self) -> ExitCode {
        match self {
            // A reader that has gone away (`--help | head`) is not a failure.
            Self::Print(text) => {
                let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
                ExitCode::SUCCESS
            }
            Self::Error(message) => {
                let _ = writeln!(std::io::stderr(), "Error: {message}");
                ExitCode::FAILURE
            }
        }
    }
}

/// Reads the words after the name of a command.
///
/// # Errors
/// The help that was asked for, or a line about the word that is wrong.
pub fn matches(mut command: Command, words: &[OsString]) -> Result<ArgMatches, Usage> {
    let name = OsString::from(command.get_name());
    let words = iter::once(name).chain(words.iter().cloned());
    command.try_get_matches_from_mut(words).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp => Usage::Print(error.to_string()),
        _ => Usage::Error(message(&error, &command)),
    })
}

/// A sentence that names the flag.
fn message(error: &clap::Error, command: &Command) -> String {
    let flag = name(context(error, ContextKind::InvalidArg));
    match error.kind() {
        ErrorKind::UnknownArgument if flag.starts_with("--") => {
            format!("unknown flag: {flag}{}", suggestion(error, ContextKind::SuggestedArg))
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(error, ContextKind::InvalidSubcommand);
            let name = command.get_bin_name().unwrap_or(command.get_name());
            format!(
                "unknown command {word:?} for {name:?}{}",
                suggestion(error, ContextKind::SuggestedSubcommand)
            )
        }
        ErrorKind::UnknownArgument => match flag.strip_prefix('-').and_then(|name| name.chars().next()) {
            Some(letter) => format!("unknown shorthand flag: {letter:?} in {flag}"),
            None => format!("{:?} does not take any arguments, got [{flag:?}]", command.get_name()),
        },
        ErrorKind::InvalidValue => format!("flag needs an argument: {flag}"),
        ErrorKind::ValueValidation => {
            let value = context(error, ContextKind::InvalidValue);
            let short = short(flag, command).map(|short| format!("-{short}, ")).unwrap_or_default();
            format!("invalid argument {value:?} for \"{short}{flag}\" flag: {}", cause(error))
        }
        // clap names them in further lines.
        ErrorKind::MissingRequiredArgument => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => format!("missing argument: {}", missing.join(" ")),
            _ => first_line(error),
        },
        ErrorKind::InvalidUtf8 => "arguments must be UTF-8".to_owned(),
        _ => first_line(error),
    }
}

/// A question about the words that are closest to the mistyped one.
fn suggestion(error: &clap::Error, kind: ContextKind) -> String {
    let closest = match error.get(kind) {
        Some(ContextValue::String(word)) => word.clone(),
        Some(ContextValue::Strings(words)) => words.join(" or "),
        _ => return String::new(),
    };
    format!("; did you mean {closest}?")
}

fn short(flag: &str, command: &Command) -> Option<char> {
    let name = flag.strip_prefix("--")?;
    command.get_arguments().find(|arg| arg.get_long() == Some(name))?.get_short()
}

/// The message about a value, without the name of its flag.
fn cause(error: &clap::Error) -> String {
    error.source().map_or_else(|| first_line(error), ToString::to_string)
}

fn context(error: &clap::Error, kind: ContextKind) -> &str {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text,
        _ => "",
    }
}

/// The flag without its value: clap writes `--flag <VALUE>` and `--flag[=<VALUE>]`.
fn name(arg: &str) -> &str {
    if !arg.starts_with('-') {
        return arg;
    }
    arg.split([' ', '[', '=']).next().unwrap_or(arg)
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn a_missing_argument_is_named() {
        let command = Command::new("completion").arg(Arg::new("shell").value_name("SHELL").required(true));
        let error = matches(command, &[]).err();
        assert_eq!(error, Some(Usage::Error("missing argument: <SHELL>".to_owned())));
    }
}
