use endpoint_diagnostics::report::Counts;

use super::*;
use crate::origin::State as SourceState;

fn board() -> Board {
    Board::new(7, origin(SourceState::Live))
}

pub(crate) fn origin(state: SourceState) -> Origin {
    Origin { name: "test".to_owned(), flags: vec![], state, message: String::new() }
}

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

/// A Service with this number of ready endpoints.
pub(crate) fn report(name: &str, ready: usize) -> Publication {
    let report = ServiceReport {
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        has_cluster_ip: true,
        counts: Counts { ready, ..Counts::default() },
        ..ServiceReport::default()
    };
    Publication { report, traffic: EndpointCounts { ready, ..EndpointCounts::default() }, newest: None }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

fn names(changes: &Changes) -> (Vec<&str>, Vec<&str>) {
    let services = changes.services.iter().map(|row| row.name.as_str()).collect();
    (services, changes.removed.iter().map(|(_, name)| name.as_str()).collect())
}

#[test]
fn a_client_gets_what_changed_after_its_cursor() {
    let board = board();
    board.publish([report("a", 0), report("b", 0)], [], now());
    let cursor = board.list().cursor;
    board.publish([report("a", 1), report("b", 0), report("c", 0)], [], now());
    let changes = board.after(cursor, 10).unwrap();
    assert_eq!(names(&changes), (vec!["a", "c"], vec![]), "b is as before");
    assert_eq!(changes.cursor, board.list().cursor);
    board.publish([], [key("a"), key("unknown")], now());
    assert_eq!(names(&board.after(changes.cursor, 10).unwrap()), (vec![], vec!["a"]));
    assert_eq!(names(&board.after(cursor, 10).unwrap()), (vec!["c"], vec!["a"]), "changes are merged");
}

#[test]
fn a_service_that_comes_back_is_not_removed() {
    let board = board();
    board.publish([report("a", 0)], [], now());
    let cursor = board.list().cursor;
    board.publish([], [key("a")], now());
    board.publish([report("a", 0)], [], now());
    assert_eq!(names(&board.after(cursor, 10).unwrap()), (vec!["a"], vec![]));
    assert_eq!(board.list().services.len(), 1);
}

#[test]
fn many_changes_come_in_parts_in_their_order() {
    let board = board();
    let start = board.list().cursor;
    board.publish((0..7).map(|number| report(&number.to_string(), 0)), [], now());
    let (mut cursor, mut seen) = (start, vec![]);
    loop {
        let changes = board.after(cursor, 3).unwrap();
        if changes.cursor == cursor {
            break;
        }
        cursor = changes.cursor;
        seen.extend(changes.services.iter().map(|row| row.name.clone()));
    }
    assert_eq!(seen.join(""), "0123456");
}

#[test]
fn a_change_that_the_row_does_not_show_is_one() {
    let board = board();
    board.publish([report("a", 0)], [], now());
    let cursor = board.list().cursor;
    let endpoints =
        endpoint_diagnostics::report::EndpointsReport { addresses: 1, not_ready: 0, truncated: false };
    let mut changed = report("a", 0);
    changed.report.endpoints = Some(endpoints);
    board.publish([changed], [], now());
    assert_eq!(names(&board.after(cursor, 10).unwrap()), (vec!["a"], vec![]));
}

#[test]
fn cursors_of_others_are_not_known() {
    let board = board();
    board.publish([report("a", 0)], [], now());
    let own = board.list().cursor;
    assert!(board.after(own, 1).is_some());
    assert!(board.after(Cursor { run: 8, ..own }, 1).is_none());
    assert!(board.after(Cursor { revision: own.revision + 1, ..own }, 1).is_none());
    assert_eq!(own.to_string().parse(), Ok(own));
    for text in ["", "-", "7", "7-", "x-1", "7-x", "7-1-1"] {
        assert!(text.parse::<Cursor>().is_err(), "{text}");
    }
}

#[test]
fn old_removals_are_forgotten_together_with_their_cursors() {
    let board = board();
    let many: Vec<String> = (0..10_001).map(|number| format!("old-{number}")).collect();
    board.publish(many.iter().map(|name| report(name, 0)), [], now());
    let before = board.list().cursor;
    board.publish([], many.iter().take(1).map(|name| key(name)), now());
    let after_one = board.list().cursor;
    board.publish([], many.iter().skip(1).map(|name| key(name)), now());
    assert!(board.after(before, 1).is_none(), "the first removal is forgotten");
    let changes = board.after(after_one, 20_000).unwrap();
    assert_eq!((changes.services.len(), changes.removed.len()), (0, 10_000));
}

#[tokio::test]
async fn waiting_clients_are_woken_by_changes_only() {
    let board = board();
    let mut revision = board.revision();
    board.publish([report("a", 0)], [], now());
    assert!(revision.has_changed().unwrap());
    revision.mark_unchanged();
    board.publish([report("a", 0)], [key("b")], now());
    assert!(!revision.has_changed().unwrap());
}

#[test]
fn a_row_remembers_its_trend_and_its_last_change() {
    let board = board();
    let later = now() + jiff::SignedDuration::from_secs(60);
    board.publish([report("a", 2)], [], now());
    board.publish([Publication { newest: Some((7, later)), ..report("a", 1) }], [], later);
    let list = board.list();
    let row = serde_json::to_value(&*list.services[0]).unwrap();
    let (first, second) = (now().as_second(), later.as_second());
    assert_eq!(row["trend"], serde_json::json!([[first, 2, 2], [second, 1, 1]]));
    assert_eq!((row["changed"].as_i64(), list.now), (Some(later.as_millisecond()), later.as_millisecond()));
}
