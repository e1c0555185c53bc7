//! docs/operate/explain.md lists each reason, and audit.md each rule.

use endpoint_diagnostics::audit::{Severity, rules};
use endpoint_diagnostics::explain::{CODES, Code};
use endpoint_diagnostics::report::Scope;

fn item(code: &Code) -> String {
    let scope = match code.scope {
        Scope::Slices => " (slices)",
        Scope::Endpoints => " (Endpoints)",
        Scope::Both => "",
    };
    format!("* `{}`{scope}", code.name)
}

#[test]
fn the_document_has_the_meaning_of_each_reason() {
    let text = include_str!("../../../../docs/operate/explain.md");
    let (_, rest) = text.split_once("<!-- reasons -->\n").unwrap();
    let (lists, _) = rest.split_once("<!-- end of reasons -->\n").unwrap();
    let (of_service, of_pod) = lists.split_once("\nAbout a pod:\n").unwrap();
    for (list, is_of_service) in [(of_service, true), (of_pod, false)] {
        let items = list.lines().filter(|line| line.starts_with('*'));
        let documented: Vec<&str> = items.filter_map(|item| Some(item.split_once(": ")?.0)).collect();
        let codes = CODES.iter().filter(|code| code.of_service == is_of_service);
        assert_eq!(documented, codes.map(item).collect::<Vec<_>>());
    }
}

#[test]
fn the_document_lists_every_rule_with_its_severities() {
    let text = include_str!("../../../../docs/operate/audit.md");
    let section = text.split("\n## ").find(|section| section.starts_with("Rules")).unwrap();
    let rows = section.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let id = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((id, cells.next()?.to_owned()))
    });
    let names =
        |severities: &[Severity]| severities.iter().map(|it| it.name()).collect::<Vec<_>>().join(", ");
    let mut expected: Vec<(&str, String)> = rules().map(|rule| (rule.id, names(rule.severities))).collect();
    let mut documented: Vec<(&str, String)> = rows.collect();
    expected.sort_unstable();
    documented.sort_unstable();
    assert_eq!(documented, expected);
}
