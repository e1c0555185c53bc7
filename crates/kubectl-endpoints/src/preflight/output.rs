//! Checks as text and as JSON.

use cli_runtime::printing::{self, aligned};
use serde::Serialize;

use super::check::{Check, Status};
use crate::exit::Code;
use crate::format::Format;

/// The document of `-o json`.
#[derive(Serialize)]
struct Document<'a> {
    server: &'a str,
    summary: Summary,
    checks: &'a [Check],
}

/// The number of checks by status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    ok: usize,
    warnings: usize,
    failed: usize,
    not_checked: usize,
}

impl Summary {
    fn of(checks: &[Check]) -> Self {
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        Self {
            ok: count(Status::Ok),
            warnings: count(Status::Warning),
            failed: count(Status::Failed),
            not_checked: count(Status::NotChecked),
        }
    }
}

/// Checks in a format.
pub(super) fn text(server: &str, checks: &[Check], format: Format) -> String {
    if format == Format::Json {
        return printing::json(&Document { server, summary: Summary::of(checks), checks });
    }
    table(checks)
}

/// A line for each check, and one for its remedy.
fn table(checks: &[Check]) -> String {
    let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    let mut rows = vec![row(["STATUS", "CHECK", "MESSAGE"])];
    for check in checks {
        rows.push(row([check.status.name(), check.id, &check.message]));
        rows.extend(check.remedy.as_ref().map(|remedy| row(["", "", &format!("-> {remedy}")])));
    }
    aligned(&rows)
}

/// A line with the numbers, for stderr.
pub(super) fn note(server: &str, checks: &[Check]) -> String {
    let Summary { ok, warnings, failed, not_checked } = Summary::of(checks);
    format!("{server}: {ok} ok, {warnings} warnings, {failed} failed, {not_checked} not checked")
}

/// The exit code.
pub(super) fn code(checks: &[Check]) -> Code {
    match checks.iter().map(|check| check.status).max() {
        None | Some(Status::Ok | Status::Warning) => Code::Done,
        Some(Status::NotChecked) => Code::Undecided,
        Some(Status::Failed) => Code::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{PLANS, VERSION, WORKLOADS, WRITERS, failed, ok, warning};
    use super::super::unknown::Unknown;
    use super::*;

    fn checks() -> Vec<Check> {
        vec![
            Check::new(VERSION, ok("v1.37.2")),
            Check::new(WORKLOADS, warning("left", "delete it")),
            Check::new(WRITERS, Err(&Unknown::forbidden("list endpoints"))),
            Check::new(PLANS, failed("2 writes", "give the flags")),
        ]
    }

    #[test]
    fn the_gravest_status_decides_the_exit_code() {
        let codes: Vec<Code> = (0..=4).map(|count| code(checks().get(..count).unwrap())).collect();
        assert_eq!(codes, [Code::Done, Code::Done, Code::Done, Code::Undecided, Code::Wrong]);
    }

    #[test]
    fn a_check_has_a_line_and_its_remedy_one_more() {
        let expected = "\
STATUS        CHECK                MESSAGE
ok            api-server-version   v1.37.2
warning       leftover-workloads   left
                                   -> delete it
not checked   last-writers         This needs permission to list endpoints
                                   -> Run this as a user who may list endpoints, or check it by hand
failed        first-plans          2 writes
                                   -> give the flags
";
        assert_eq!(text("https://k8s", &checks(), Format::Table), expected);
        assert_eq!(note("https://k8s", &checks()), "https://k8s: 1 ok, 1 warnings, 1 failed, 1 not checked");
    }

    #[test]
    fn the_fields_of_json_are_stable() {
        let document: serde_json::Value =
            serde_json::from_str(&text("https://k8s", &checks(), Format::Json)).unwrap();
        assert_eq!(
            document,
            serde_json::json!({
                "server": "https://k8s",
                "summary": {"ok": 1, "warnings": 1, "failed": 1, "notChecked": 1},
                "checks": [
                    {"id": "api-server-version", "group": "apiServer", "status": "ok", "message": "v1.37.2",
                        "remedy": null},
                    {"id": "leftover-workloads", "group": "leftovers", "status": "warning", "message": "left",
                        "remedy": "delete it"},
                    {"id": "last-writers", "group": "writers", "status": "notChecked",
                        "message": "This needs permission to list endpoints",
                        "remedy": "Run this as a user who may list endpoints, or check it by hand"},
                    {"id": "first-plans", "group": "takeover", "status": "failed", "message": "2 writes",
                        "remedy": "give the flags"},
                ],
            })
        );
    }
}
