use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::duration::human;
use super::{Include, Printer, cells, columns};
use crate::kinds::KINDS;
use crate::schema::Type;

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn included(object: Option<&str>) -> Include {
    Include::parse(object).unwrap()
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
    for (group, kind) in KINDS.iter().map(|kind| (kind.group, kind.kind)) {
        let columns: Vec<Value> = serde_json::from_slice(columns::of(group, kind)).expect("columns");
        assert_eq!(cells(group, kind, &json!({}), now()).len(), columns.len(), "{group} {kind}");
    }
}

/// The table of a pod.
fn table(pod: &Value, include: Option<&str>, columns: bool) -> String {
    let type_ = Type::named("k8s.io/api/core/v1.Pod").expect("a type");
    let printer = Printer::new(("v1", "Pod"), type_, included(include), now());
    let mut out = Vec::new();
    printer.write_one(pod.clone(), columns, &mut out);
    String::from_utf8(out).expect("text")
}

/// A bookmark has an object with nothing but a version.
#[test]
fn a_bare_object_has_the_row_of_the_real_server() {
    let bookmark =
        json!({"metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}});
    assert_eq!(
        table(&bookmark, None, false),
        concat!(
            r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"columnDefinitions":null,"#,
            r#""rows":[{"cells":["","0/0","","0","\u003cunknown\u003e","\u003cnone\u003e","\u003cnone\u003e","#,
            r#""\u003cnone\u003e","\u003cnone\u003e"],"object":{"kind":"PartialObjectMetadata","#,
            r#""apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9","annotations":"#,
            r#"{"k8s.io/initial-events-end":"true"}}}}]}"#,
        )
    );
}

#[test]
fn rows_show_what_was_asked_of_their_objects() {
    let pod = json!({
        "metadata": {"name": "p", "managedFields": [{"manager": "m", "apiVersion": "v1"}]},
        "spec": {"containers": null},
        "status": {"phase": "Failed"},
    });
    let row = |include| {
        let table = table(&pod, include, true);
        let columns = r#","columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"Name must"#;
        assert!(table.contains(columns), "{table}");
        let condition = r#"],"conditions":[{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}],"#;
        table.split_once(condition).expect("a condition").1.to_owned()
    };
    let managers = r#""managedFields":[{"manager":"m","apiVersion":"v1"}]"#;
    let metadata = format!(
        r#""object":{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{{"name":"p",{managers}}}}}}}]}}"#
    );
    assert_eq!(row(None), metadata);
    assert_eq!(row(Some("Metadata")), metadata);
    let object = format!(
        r#""object":{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"p",{managers}}},"spec":{{"containers":null}},"status":{{"phase":"Failed"}}}}}}]}}"#
    );
    assert_eq!(row(Some("Object")), object);
    assert_eq!(included(None), Include::Metadata);
}
