use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::duration::human;
use super::{Include, Options, cells, columns, table, table_of_one};
use crate::kinds::KINDS;

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn options(include: Option<&str>) -> Options {
    Options::parse("v1", include).unwrap()
}

/// `1y2d3h4m5s` in seconds.
fn seconds(days: i64, hours: i64, minutes: i64, seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}

#[test]
fn durations_lose_small_units_as_they_grow() {
    for (duration, expected) in [
        (SignedDuration::from_millis(-2000), "<invalid>"),
        (SignedDuration::from_millis(-1999), "0s"),
        (seconds(0, 0, 0, 0), "0s"),
        (seconds(0, 0, 1, 59), "119s"),
        (seconds(0, 0, 2, 0), "2m"),
        (seconds(0, 0, 9, 59), "9m59s"),
        (seconds(0, 0, 10, 59), "10m"),
        (seconds(0, 2, 59, 59), "179m"),
        (seconds(0, 3, 0, 59), "3h"),
        (seconds(0, 7, 59, 59), "7h59m"),
        (seconds(0, 8, 59, 0), "8h"),
        (seconds(1, 23, 59, 0), "47h"),
        (seconds(2, 0, 59, 0), "2d"),
        (seconds(7, 23, 0, 0), "7d23h"),
        (seconds(8, 23, 0, 0), "8d"),
        (seconds(729, 23, 0, 0), "729d"),
        (seconds(730, 0, 0, 0), "2y"),
        (seconds(731, 0, 0, 0), "2y1d"),
        (seconds(8 * 365 + 3, 0, 0, 0), "8y"),
    ] {
        assert_eq!(human(duration), expected, "{duration:?}");
    }
}

#[test]
fn rows_have_as_many_cells_as_there_are_columns() {
    let scale = ("autoscaling", "Scale");
    for (group, kind) in KINDS.iter().map(|kind| (kind.group, kind.kind)).chain([scale, ("other", "Other")]) {
        let columns = columns::of(group, kind).as_array().expect("columns").len();
        assert_eq!(cells(group, kind, &json!({}), now()).len(), columns, "{group} {kind}");
    }
}

/// A bookmark has an object with nothing but a version.
#[test]
fn a_bare_object_has_the_row_of_the_real_server() {
    let bookmark =
        json!({"metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}});
    let table = table_of_one(("", "Pod"), &bookmark, options(Some("None")), false, now());
    let cells = json!(["", "0/0", "", "0", "<unknown>", "<none>", "<none>", "<none>", "<none>"]);
    assert_eq!(table["rows"][0]["cells"], cells);
    assert_eq!(table["rows"][0]["object"]["metadata"], bookmark["metadata"]);
    assert_eq!(table["columnDefinitions"], Value::Null);
    assert_eq!(table["metadata"], json!({"resourceVersion": "9"}));
}

#[test]
fn rows_show_what_was_asked_of_their_objects() {
    let pod =
        json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "status": {"phase": "Failed"}});
    let row = |include| {
        let table = table(("", "Pod"), &json!({}), [&pod], options(include), true, now());
        assert_eq!(table["columnDefinitions"][0]["name"], "Name");
        table["rows"][0].clone()
    };
    let metadata =
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "p"}});
    assert_eq!(row(None)["object"], metadata);
    assert_eq!(row(Some("Metadata"))["object"], metadata);
    assert_eq!(row(Some("Object"))["object"], pod);
    assert_eq!(row(Some("None"))["object"], Value::Null);
    assert_eq!(row(None)["conditions"][0]["reason"], "Failed");
    assert_eq!(options(None).include, Include::Metadata);
}

#[test]
fn unknown_choices_are_refused() {
    let error = Options::parse("v1", Some("Foo")).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            400,
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', 'Object', \
             'None', or empty"
        )
    );
    assert_eq!(Options::parse("v2", None).unwrap_err().code, 406);
}
