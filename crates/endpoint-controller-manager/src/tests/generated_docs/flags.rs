//! `docs/reference/flags.md`.

use super::{REFRESH, assert_current};
use crate::options::flag::{Effect, Flag};
use crate::options::groups::{GROUPS, Group};
use crate::version::KUBERNETES;

fn head() -> String {
    let release = &KUBERNETES[1..];
    format!(
        "# Flags\n\n\
         Generated from the program by `{REFRESH}`.\n\n\
         Flags have the names, forms and defaults of kube-controller-manager {release}, so its command line can be copied, \
         except for\n[a few flags](parity.md#for-operators): `_` stands for `-`, the last of several values counts, and \
         numbers, durations\n(`1m30s`) and booleans have Go's syntax. `--help` describes each; \
         [config/endpoint-controller-manager.yaml](../../config/endpoint-controller-manager.yaml)\nhas the field of each \
         that the [configuration file](configuration.md) may set. Defaults:\n"
    )
}

/// Flags with their defaults, a line each.
fn list<'a>(flags: impl Iterator<Item = &'a Flag>) -> String {
    let line = |flag: &Flag| match flag.default {
        "" => format!("--{}\n", flag.name),
        default => format!("--{}={default}\n", flag.name),
    };
    format!("```text\n{}```\n", flags.map(line).collect::<String>())
}

fn section(groups: &[Group]) -> String {
    let flags = || groups.iter().flat_map(|group| group.flags);
    let body = if flags().all(|flag| flag.effect == Effect::Ignored) {
        format!(
            "{} flags, with the values that kube-controller-manager accepts; `--help` lists them.\n",
            flags().count()
        )
    } else {
        list(flags())
    };
    let heading = groups.first().map_or("", |group| group.heading);
    format!("\n## {heading}\n\n{body}")
}

#[test]
fn flags_md_is_current() {
    let sections = GROUPS.chunk_by(|a, b| a.heading == b.heading).map(section);
    assert_current("flags.md", &(head() + &sections.collect::<String>()));
}
