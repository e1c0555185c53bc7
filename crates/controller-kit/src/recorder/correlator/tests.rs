//! The three rules, one by one and together, with times as arguments.

use std::collections::BTreeSet;

use super::*;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

use crate::recorder::EventType;

const SECOND: Duration = Duration::from_secs(1);

/// A correlator and its time.
struct Harness {
    correlator: Correlator,
    start: Instant,
    now: Instant,
}

impl Harness {
    fn new() -> Self {
        let now = Instant::now();
        Self { correlator: Correlator::new("widget-controller"), start: now, now }
    }

    fn wait(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        self
    }

    fn report(&mut self, occurrence: Occurrence) -> Option<Write> {
        let at = wall_clock(self.now - self.start);
        self.correlator.correlate(Occurrence { at, ..occurrence }, self.now)
    }

    /// Reports a message about `default/web` and summarises the write.
    fn report_message(&mut self, message: &str) -> String {
        let write = self.report(occurrence("web", message));
        write.map_or_else(|| "skip".to_owned(), |write| summary(&write))
    }
}

/// Ten o'clock, and the time since.
fn wall_clock(since: Duration) -> Timestamp {
    "2026-03-01T10:00:00Z".parse::<Timestamp>().unwrap() + since
}

fn occurrence(name: &str, message: &str) -> Occurrence {
    let object = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Widget".to_owned()),
        namespace: Some("default".to_owned()),
        name: Some(name.to_owned()),
        uid: Some("the-uid".to_owned()),
        resource_version: Some("7".to_owned()),
        field_path: None,
    };
    let (reason, message) = ("FailedToSync".to_owned(), message.to_owned());
    Occurrence { object, event_type: EventType::Warning, reason, message, at: wall_clock(Duration::ZERO) }
}

fn summary(Write { event, verb }: &Write) -> String {
    format!("{verb:?} {} {:?}", event.count.unwrap(), event.message.as_ref().unwrap())
}

#[test]
fn a_repetition_counts_on_the_first_event() {
    let mut harness = Harness::new();
    let first = harness.report(occurrence("web", "no")).unwrap();
    for count in 2..=4 {
        let mut again = occurrence("web", "no");
        again.object.resource_version = Some(count.to_string());
        let write = harness.wait(60 * SECOND).report(again).unwrap();
        let last = wall_clock(60 * SECOND * (u32::try_from(count).unwrap() - 1));
        let mut expected = Write { verb: Verb::Patch, ..first.clone() };
        expected.event.count = Some(count);
        expected.event.last_timestamp = Some(Time(last));
        expected.event.involved_object.resource_version = Some(count.to_string());
        assert_eq!(write, expected, "name and firstTimestamp stay");
        let last = format!("2026-03-01T10:0{}:00Z", count - 1);
        assert_eq!(
            write.patch(),
            serde_json::json!({"count": count, "lastTimestamp": last, "message": "no"})
        );
    }
}

#[test]
fn any_difference_makes_another_event() {
    let change: [fn(&mut Occurrence); 9] = [
        |_| {},
        |other| other.object.kind = Some("Gadget".to_owned()),
        |other| other.object.namespace = Some("other".to_owned()),
        |other| other.object.name = Some("other".to_owned()),
        |other| other.object.uid = Some("other".to_owned()),
        |other| other.object.api_version = Some("v2".to_owned()),
        |other| other.object.field_path = Some("spec".to_owned()),
        |other| other.event_type = EventType::Normal,
        |other| other.reason = "Other".to_owned(),
    ];
    let mut harness = Harness::new();
    for round in 1..=2 {
        let mut names = BTreeSet::new();
        for change in change {
            let mut occurrence = occurrence("web", "no");
            change(&mut occurrence);
            let write = harness.report(occurrence).unwrap();
            assert_eq!(write.event.count, Some(round));
            names.insert(write.name().to_owned());
        }
        assert_eq!(names.len(), change.len());
    }
}

#[test]
fn the_tenth_message_begins_to_combine() {
    let mut harness = Harness::new();
    for n in 1..=9 {
        assert_eq!(harness.report_message(&format!("message {n}")), format!("Create 1 \"message {n}\""));
    }
    harness.wait(SECOND);
    let tenth = harness.report(occurrence("web", "message 10")).unwrap();
    assert_eq!(summary(&tenth), "Create 1 \"(combined from similar events): message 10\"");
    assert_eq!(tenth.event.first_timestamp, Some(Time(wall_clock(SECOND))));
    assert_eq!(tenth.event.reporting_component.as_deref(), Some(""));
    assert_eq!(tenth.event.source.as_ref().unwrap().component.as_deref(), Some("widget-controller"));

    let eleventh = harness.wait(SECOND).report(occurrence("web", "message 11")).unwrap();
    assert_eq!(summary(&eleventh), "Patch 2 \"(combined from similar events): message 11\"");
    assert_eq!(eleventh.name(), tenth.name());
    assert_eq!(eleventh.event.first_timestamp, tenth.event.first_timestamp);
    assert_eq!(
        harness.report_message("message 10"),
        "Patch 3 \"(combined from similar events): message 10\""
    );
    assert_eq!(harness.report_message("message 3"), "Patch 2 \"message 3\"", "has an event of its own");
    let other = harness.report(occurrence("api", "message 12")).unwrap();
    assert_eq!(summary(&other), "Create 1 \"message 12\"", "another object");
}

#[test]
fn combining_ends_with_ten_minutes_of_silence() {
    let mut harness = Harness::new();
    for n in 1..=10 {
        harness.report_message(&format!("message {n}"));
    }
    let within = harness.wait(600 * SECOND).report_message("message 11");
    assert_eq!(within, "Patch 2 \"(combined from similar events): message 11\"");
    harness.wait(601 * SECOND);
    for n in 20..29 {
        assert_eq!(harness.report_message(&format!("message {n}")), format!("Create 1 \"message {n}\""));
    }
    assert_eq!(
        harness.report_message("message 29"),
        "Patch 3 \"(combined from similar events): message 29\""
    );
}

#[test]
fn spam_is_limited_to_25_and_then_one_in_five_minutes() {
    let mut harness = Harness::new();
    for count in 1..=25 {
        assert!(harness.report_message("no").contains(&format!(" {count} ")), "{count}");
    }
    assert_eq!([harness.report_message("no"), harness.report_message("another")], ["skip", "skip"]);
    assert_eq!(
        summary(&harness.report(occurrence("api", "no")).unwrap()),
        "Create 1 \"no\"",
        "another object"
    );
    let normal = Occurrence { event_type: EventType::Normal, ..occurrence("web", "yes") };
    assert_eq!(summary(&harness.report(normal).unwrap()), "Create 1 \"yes\"", "another type");

    assert_eq!(harness.wait(299 * SECOND).report_message("no"), "skip");
    assert_eq!(harness.wait(SECOND).report_message("no"), "Patch 28 \"no\"", "with those held back");
    assert_eq!(harness.report_message("another"), "skip");
    let another = harness.wait(300 * SECOND).report_message("another");
    assert_eq!(another, "Patch 3 \"another\"", "never created; the writer then creates it");
    harness.wait(3 * 300 * SECOND);
    let burst: Vec<_> = (0..4).map(|_| harness.report_message("no") != "skip").collect();
    assert_eq!(burst, [true, true, true, false], "tokens add up");
    harness.wait(100 * 300 * SECOND);
    assert_eq!(
        (0..30).filter(|_| harness.report_message("no") != "skip").count(),
        25,
        "but not beyond the burst"
    );
}

#[test]
fn the_memory_is_bounded() {
    let mut harness = Harness::new();
    let objects: Vec<String> = (0..=REMEMBERED).map(|n| format!("widget-{n}")).collect();
    let mut report = |object| summary(&harness.report(occurrence(object, "no")).unwrap());
    for object in &objects {
        assert_eq!(report(object), "Create 1 \"no\"");
    }
    assert_eq!(report(&objects[1]), "Patch 2 \"no\"", "the second is still there");
    assert_eq!(report(&objects[0]), "Create 1 \"no\"", "the first is evicted");
    let Correlator { groups, series, buckets, .. } = harness.correlator;
    assert_eq!([groups.len(), series.len(), buckets.len()], [REMEMBERED; 3]);
}

#[test]
fn names_are_unique_and_valid() {
    let mut harness = Harness::new();
    let names: BTreeSet<String> = (0..20)
        .filter_map(|n| harness.report(occurrence("web", &format!("{}", n % 9))))
        .filter(|write| write.verb == Verb::Create)
        .map(|write| write.name().to_owned())
        .collect();
    assert_eq!(names.len(), 9, "all at the same time");

    let number = 0x1797_978a_36a2_007b;
    let long = "a".repeat(236);
    for (object, expected) in [
        ("web", "web"),
        ("a.b-c.d", "a.b-c.d"),
        (&long, &long),
        (&"a".repeat(237), "controller"),
        ("", "controller"),
        ("-a", "controller"),
        ("a-", "controller"),
        ("a..b", "controller"),
        ("system:node", "controller"),
        ("Web", "controller"),
        ("a/b", "controller"),
        ("ä", "controller"),
    ] {
        assert_eq!(event_name(Some(object), "controller", number), format!("{expected}.1797978a36a2007b"));
    }
    assert_eq!(event_name(None, "controller", 1), "controller.1");
}

#[test]
fn an_object_without_namespace_has_its_events_in_default() {
    let mut harness = Harness::new();
    for namespace in [None, Some(String::new())] {
        let mut occurrence = occurrence("node-1", "no");
        occurrence.object.namespace.clone_from(&namespace);
        let write = harness.report(occurrence).unwrap();
        assert_eq!(write.namespace(), "default");
        assert_eq!(write.event.involved_object.namespace, namespace);
    }
}

#[test]
fn invalid_times_do_no_harm() {
    let mut harness = Harness::new();
    for at in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
        let write = harness.correlator.correlate(Occurrence { at, ..occurrence("web", "no") }, harness.now);
        assert!(write.is_some());
    }
    harness.correlator.last_number = u64::MAX;
    assert_eq!(harness.report_message("other"), "Create 1 \"other\"");
}
