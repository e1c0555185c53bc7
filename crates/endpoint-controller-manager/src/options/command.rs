//! The clap command that reads what pflag reads.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

use super::flag::Flag;
use super::groups::{GROUPS, HELP, all};
use crate::version;

const ABOUT: &str = "Runs the endpoint controllers of kube-controller-manager in a process of their own";

/// The command with all flags, after some of its own.
pub fn build(own: Vec<Arg>) -> Command {
    let args =
        GROUPS.iter().flat_map(|group| group.flags.iter().map(|flag| arg(flag).help_heading(group.heading)));
    Command::new(version::NAME)
        .about(ABOUT)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true)
        .args(own)
        .args(args)
}

/// Values have Go's syntax: `--flag` and `--flag=false` for a boolean; anything, also `-1` and `--x`, as the value of
/// another flag. Defaults are shown as pflag does: not if they are zero or empty.
fn arg(flag: &'static Flag) -> Arg {
    let help =
        flag.help_with_range() + &flag.choices.map(|choices| format!("\n{}", choices())).unwrap_or_default();
    let arg = Arg::new(flag.name).long(flag.name).short(flag.short).help(help).hide(flag.hidden);
    if flag.name == HELP {
        return arg.action(ArgAction::HelpShort);
    }
    let action = if flag.may_be_repeated() { ArgAction::Append } else { ArgAction::Set };
    let checked = |text: &str| flag.check(text).map(|()| text.to_owned());
    let arg = arg.action(action).value_parser(checked).value_name(flag.value_placeholder());
    let arg = if flag.optional_value {
        arg.num_args(0..=1).require_equals(true).default_missing_value("true")
    } else {
        arg.allow_hyphen_values(true)
    };
    let arg =
        if flag.may_be_repeated() && flag.default.is_empty() { arg } else { arg.default_value(flag.default) };
    arg.hide_default_value(flag.hides_default())
}

/// The words after the program's name, with `-` for `_` in the names of flags (pflag's `WordSepNormalizeFunc`), and without the
/// empty ones that are not values, which upstream passes over. `own` are further flags.
pub(super) fn normalized<T: Into<OsString>>(
    arguments: impl IntoIterator<Item = T>,
    own: &[Arg],
) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut is_value = false;
    for argument in arguments.into_iter().map(Into::into) {
        if argument.is_empty() && !is_value {
            continue;
        }
        let word = match argument.to_str() {
            Some(text) if !is_value => OsString::from(normalized_word(text)),
            _ => argument,
        };
        is_value = !is_value && word.to_str().is_some_and(|word| takes_next_word(word, own));
        words.push(word);
    }
    words
}

fn normalized_word(word: &str) -> String {
    if !word.starts_with("--") {
        return word.to_owned();
    }
    let (name, value) = word.split_at(word.find('=').unwrap_or(word.len()));
    name.replace('_', "-") + value
}

fn takes_next_word(word: &str, own: &[Arg]) -> bool {
    let is_named = |long: Option<&str>, short: Option<char>| match word.strip_prefix("--") {
        Some(name) => long == Some(name),
        None => short.is_some_and(|short| word == format!("-{short}")),
    };
    let flag = all().find(|flag| is_named(Some(flag.name), flag.short));
    let own = own.iter().find(|arg| is_named(arg.get_long(), arg.get_short()));
    flag.is_some_and(|flag| !flag.optional_value)
        || own.is_some_and(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set())
}
