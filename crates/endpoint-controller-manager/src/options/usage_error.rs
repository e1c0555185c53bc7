//! Messages about a wrong command line, in pflag's words.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::groups::find;
use crate::version;

/// A sentence that names the flag.
pub(crate) fn message(error: &clap::Error) -> String {
    let flag = name(context(error, ContextKind::InvalidArg));
    match error.kind() {
        ErrorKind::UnknownArgument if flag.starts_with("--") => format!("unknown flag: {flag}"),
        ErrorKind::UnknownArgument => match flag.strip_prefix('-').and_then(|name| name.chars().next()) {
            Some(letter) => format!("unknown shorthand flag: {letter:?} in {flag}"),
            None => format!("{:?} does not take any arguments, got [{flag:?}]", version::NAME),
        },
        ErrorKind::InvalidValue => format!("flag needs an argument: {flag}"),
        ErrorKind::ValueValidation => {
            let value = context(error, ContextKind::InvalidValue);
            let short = flag.strip_prefix("--").and_then(find).and_then(|flag| flag.short);
            let short = short.map(|short| format!("-{short}, ")).unwrap_or_default();
            format!("invalid argument {value:?} for \"{short}{flag}\" flag: {}", cause(error))
        }
        ErrorKind::InvalidUtf8 => "arguments must be UTF-8".to_owned(),
        _ => first_line(error),
    }
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
