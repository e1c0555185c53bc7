//! clap, made to read what pflag reads.

use std::any::TypeId;
use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::flags::Flags;
use super::ignored;
use crate::gates;
use crate::strconv::{parse_bool, parse_f64, parse_i32};

/// All flags.
pub(super) fn build() -> Command {
    let help = Arg::new("help").short('h').long("help").help("Print this and quit");
    let help = help.action(ArgAction::HelpShort).help_heading("Global flags");
    let command = ignored::add_to(Flags::command().arg(help)).mut_args(as_in_go);
    command.mut_arg("feature_gates", |arg| {
        let help = arg.get_help().cloned().unwrap_or_default();
        arg.help(format!("{help}\n{}", gates::help()))
    })
}

/// Reads values as Go does: its booleans and numbers; `--flag` and `--flag=false` for a boolean; anything, also `-1` and
/// `--x`, as the value of another flag. Shows defaults as pflag does: not if they are zero or empty.
fn as_in_go(arg: Arg) -> Arg {
    let arg = match arg.get_action() {
        ArgAction::HelpShort => return arg,
        ArgAction::SetTrue => boolean(arg),
        _ if arg.is_require_equals_set() => arg,
        _ => numeric(arg).allow_hyphen_values(true),
    };
    let zero = arg
        .get_default_values()
        .iter()
        .any(|value| ["", "0", "0s", "false"].iter().any(|zero| value == zero));
    arg.hide_default_value(zero)
}

fn boolean(arg: Arg) -> Arg {
    let default = arg.get_default_values().first().map_or("false".into(), Clone::clone);
    arg.action(ArgAction::Set)
        .value_parser(parse_bool)
        .value_name("BOOL")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .default_value(default)
}

fn numeric(arg: Arg) -> Arg {
    let id = arg.get_value_parser().type_id();
    if id == TypeId::of::<i32>() {
        arg.value_parser(parse_i32).value_name("N")
    } else if id == TypeId::of::<f64>() {
        arg.value_parser(parse_f64).value_name("NUMBER")
    } else {
        arg
    }
}

/// The words of the command line, with `-` for `_` in the names of flags (pflag's `WordSepNormalizeFunc`).
pub(super) fn normalized(command: &Command, arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut is_value = true; // the program's name
    for argument in arguments {
        let word = match argument.to_str() {
            Some(text) if !is_value => OsString::from(normalized_word(text)),
            _ => argument,
        };
        is_value = !is_value && word.to_str().is_some_and(|word| takes_next_word(command, word));
        words.push(word);
    }
    words
}

fn normalized_word(word: &str) -> String {
    match word.strip_prefix("--").map(|flag| flag.split_once('=').unwrap_or((flag, ""))) {
        Some((name, _)) => {
            let (name, rest) = word.split_at(name.len() + "--".len());
            name.replace('_', "-") + rest
        }
        None => word.to_owned(),
    }
}

fn takes_next_word(command: &Command, word: &str) -> bool {
    let named = |arg: &&Arg| match word.strip_prefix("--") {
        Some(name) => arg.get_long() == Some(name),
        None => word
            .strip_prefix('-')
            .is_some_and(|name| arg.get_short().is_some_and(|short| name.strip_prefix(short) == Some(""))),
    };
    command.get_arguments().find(named).is_some_and(|arg| !arg.is_require_equals_set())
}

/// What clap calls a flag.
pub(super) fn id<'a>(command: &'a Command, flag: &'a str) -> &'a str {
    let named = command.get_arguments().find(|arg| arg.get_long() == Some(flag));
    named.map_or(flag, |arg| arg.get_id().as_str())
}
