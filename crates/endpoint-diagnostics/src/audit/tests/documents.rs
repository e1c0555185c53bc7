//! The list of rules in docs/operate/audit.md.

use std::collections::BTreeMap;

use crate::audit::{Severity, rules};

#[test]
fn the_document_lists_every_rule_with_its_severities() {
    let text = include_str!("../../../../../docs/operate/audit.md");
    let section = text.split("\n## ").find(|section| section.starts_with("Rules")).unwrap();
    let rows = section.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let id = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((id, cells.next()?))
    });
    let documented: BTreeMap<&str, &str> = rows.collect();
    let names =
        |severities: &[Severity]| severities.iter().map(|it| it.name()).collect::<Vec<_>>().join(", ");
    let expected: BTreeMap<&str, String> = rules().map(|rule| (rule.id, names(rule.severities))).collect();
    let documented: BTreeMap<&str, String> =
        documented.into_iter().map(|(id, severities)| (id, severities.to_owned())).collect();
    assert_eq!(documented, expected);
}

#[test]
fn ids_are_unique() {
    let mut ids: Vec<&str> = rules().map(|rule| rule.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}
