//! `docs/flags.md`.

use super::{REFRESH, assert_current, code, row};
use crate::options::flag::{Effect, Flag, Kind, OnChange};
use crate::options::groups::{GROUPS, Group};
use crate::version::KUBERNETES;

fn head() -> String {
    let release = &KUBERNETES[1..];
    format!(
        "# Flags\n\n\
         Generated from the program by `{REFRESH}`.\n\n\
         Flags have the names, forms and defaults of kube-controller-manager {release}, so its command line can be copied: \
         `_` stands\nfor `-`, the last of several values counts, and numbers, durations (`1m30s`) and booleans have Go's \
         syntax. A flag takes\nprecedence over the configuration file (`--config`), and the file over the default. \
         \"Field\" is the key in that file and\nunder `/configz`; \
         one that is reloaded takes effect without a restart ([configuration.md](configuration.md)).\n"
    )
}

/// The values that a flag takes.
fn values(flag: &Flag) -> String {
    let name = flag.value_placeholder();
    match flag.kind {
        Kind::Bool(_) => "true, false".to_owned(),
        Kind::Count { min, max: i32::MAX, .. } => format!("at least {min}"),
        Kind::Count { min, max, .. } => format!("{min} to {max}"),
        Kind::Int(_) => "integer".to_owned(),
        Kind::Float(_) => "number".to_owned(),
        Kind::Duration(_) => "duration".to_owned(),
        Kind::List(_) => format!("{name}, comma-separated"),
        Kind::Repeated(_) => format!("{name}, may be repeated"),
        Kind::Text(_) | Kind::Checked(_) | Kind::Parsed(_) | Kind::Level(_) | Kind::Quantity => {
            name.to_owned()
        }
    }
}

fn name(flag: &Flag) -> String {
    let long = format!("`--{}`", flag.name);
    flag.short.map_or(long.clone(), |short| format!("`-{short}`, {long}"))
}

fn optional_code(text: &str) -> String {
    if text.is_empty() { String::new() } else { code([text]) }
}

fn table<'a>(flags: impl Iterator<Item = &'a Flag>) -> String {
    let line = |flag: &Flag| {
        let more = if flag.choices.is_some() { "; `--help` lists them" } else { "" };
        let (default, key) = (optional_code(flag.default), optional_code(flag.key.unwrap_or_default()));
        let key = if flag.on_change == OnChange::Reload { key + ", reloaded" } else { key };
        row(&[&name(flag), &default, &values(flag), &(flag.description() + more), &key])
    };
    let head = row(&["Flag", "Default", "Values", "Description", "Field"]) + "|---|---|---|---|---|\n";
    head + &flags.map(line).collect::<String>()
}

/// Flags without effect, with their fields.
fn list<'a>(flags: impl Iterator<Item = &'a Flag>) -> String {
    let item = |flag: &Flag| match flag.key {
        Some(key) => format!("* {} (`{key}`)\n", name(flag)),
        None => format!("* {}\n", name(flag)),
    };
    let head = "Accepted with the values that kube-controller-manager accepts:\n\n".to_owned();
    head + &flags.map(item).collect::<String>()
}

fn section(groups: &[Group]) -> String {
    let flags = || groups.iter().flat_map(|group| group.flags);
    let ignored = flags().all(|flag| flag.effect == Effect::Ignored);
    let body = if ignored { list(flags()) } else { table(flags()) };
    let heading = groups.first().map_or("", |group| group.heading);
    format!("\n## {heading}\n\n{body}")
}

/// The flags of a subcommand.
fn subcommand(heading: &str, intro: &str, args: &[clap::Arg]) -> String {
    let line = |arg: &clap::Arg| {
        let long = format!("`--{}`", arg.get_long().unwrap_or_default());
        let name = arg.get_short().map_or(long.clone(), |short| format!("`-{short}`, {long}"));
        let values = arg.get_value_names().map(|names| names.join(" ")).unwrap_or_default();
        row(&[&name, &values, &arg.get_help().map(ToString::to_string).unwrap_or_default()])
    };
    let head = row(&["Flag", "Values", "Description"]) + "|---|---|---|\n";
    let lines: String = args.iter().map(line).collect();
    format!("\n## {heading}\n\n{intro}\n\n{head}{lines}")
}

fn shadow() -> String {
    let intro = "`endpoint-controller-manager shadow` takes these beside all others; [shadow.md](shadow.md) describes it.";
    subcommand("Shadow flags", intro, &crate::commands::shadow::args())
}

#[test]
fn flags_md_is_current() {
    let sections = GROUPS.chunk_by(|a, b| a.heading == b.heading).map(section);
    assert_current("flags.md", &(head() + &sections.collect::<String>() + &shadow()));
}
