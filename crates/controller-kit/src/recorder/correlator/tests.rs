//! The three rules, one by one and together, with times as arguments.

use std::collections::BTreeSet;

use super::*;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

use crate::recorder::EventType;

const SECOND: Duration = Duration::from_secs(1);

/// A correlator and its time.
struct World {
    correlator: Correlator,
    start: Instant,
    now: Instant,
}

impl World {
    fn new() -> Self {
        let now = Instant::now();
        Self { correlator: Correlator::new("endpoint-slice-controller"), start: now, now }
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
    fn say(&mut self, message: &str) -> String {
        let write = self.report(occurrence("web", message));
        write.map_or_else(|| "skip".to_owned(), |write| show(&write))
    }
}

/// Ten o'clock, and the time since.
fn wall_clock(since: Duration) -> Timestamp {
    "2026-03-01T10:00:00Z".parse::<Timestamp>().unwrap() + since
}

fn occurrence(name: &str, message: &str) -> Occurrence {
    let object = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Service".to_owned()),
        namespace: Some("default".to_owned()),
        name: Some(name.to_owned()),
        uid: Some("the-uid".to_owned()),
        resource_version: Some("7".to_owned()),
        field_path: None,
    };
    let (reason, message) = ("FailedToListPods".to_owned(), message.to_owned());
    Occurrence { object, event_type: EventType::Warning, reason, message, at: wall_clock(Duration::ZERO) }
}

fn show(Write { event, verb }: &Write) -> String {
    format!("{verb:?} {} {:?}", event.count.unwrap(), event.message.as_ref().unwrap())
}

#[test]
fn a_first_event_in_full() {
    let mut world = World::new();
    let at = Timestamp::new(1_700_000_000, 123).unwrap();
    let write = world.correlator.correlate(Occurrence { at, ..occurrence("web", "no") }, world.now).unwrap();
    assert_eq!(write.verb, Verb::Create);
    assert_eq!(
        serde_json::to_value(write.event).unwrap(),
        serde_json::json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": "web.17979cfe362a007b", "namespace": "default"},
            "involvedObject": {
                "apiVersion": "v1", "kind": "Service", "namespace": "default", "name": "web",
                "uid": "the-uid", "resourceVersion": "7",
            },
            "type": "Warning", "reason": "FailedToListPods", "message": "no", "count": 1,
            "firstTimestamp": "2023-11-14T22:13:20Z", "lastTimestamp": "2023-11-14T22:13:20Z",
            "source": {"component": "endpoint-slice-controller"},
            "reportingComponent": "endpoint-slice-controller", "reportingInstance": "",
        })
    );
}

#[test]
fn a_repetition_counts_on_the_first_event() {
    let mut world = World::new();
    let first = world.report(occurrence("web", "no")).unwrap();
    for count in 2..=4 {
        let mut again = occurrence("web", "no");
        again.object.resource_version = Some(count.to_string());
        let write = world.wait(60 * SECOND).report(again).unwrap();
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
        |other| other.object.kind = Some("Endpoints".to_owned()),
        |other| other.object.namespace = Some("other".to_owned()),
        |other| other.object.name = Some("other".to_owned()),
        |other| other.object.uid = Some("other".to_owned()),
        |other| other.object.api_version = Some("v2".to_owned()),
        |other| other.object.field_path = Some("spec".to_owned()),
        |other| other.event_type = EventType::Normal,
        |other| other.reason = "Other".to_owned(),
    ];
    let mut world = World::new();
    for round in 1..=2 {
        let mut names = BTreeSet::new();
        for change in change {
            let mut occurrence = occurrence("web", "no");
            change(&mut occurrence);
            let write = world.report(occurrence).unwrap();
            assert_eq!(write.event.count, Some(round));
            names.insert(write.name().to_owned());
        }
        assert_eq!(names.len(), change.len());
    }
}

#[test]
fn the_tenth_message_begins_to_combine() {
    let mut world = World::new();
    for n in 1..=9 {
        assert_eq!(world.say(&format!("message {n}")), format!("Create 1 \"message {n}\""));
    }
    world.wait(SECOND);
    let tenth = world.report(occurrence("web", "message 10")).unwrap();
    assert_eq!(show(&tenth), "Create 1 \"(combined from similar events): message 10\"");
    assert_eq!(tenth.event.first_timestamp, Some(Time(wall_clock(SECOND))));
    assert_eq!(tenth.event.reporting_component.as_deref(), Some(""));
    assert_eq!(tenth.event.source.as_ref().unwrap().component.as_deref(), Some("endpoint-slice-controller"));

    let eleventh = world.wait(SECOND).report(occurrence("web", "message 11")).unwrap();
    assert_eq!(show(&eleventh), "Patch 2 \"(combined from similar events): message 11\"");
    assert_eq!(eleventh.name(), tenth.name());
    assert_eq!(eleventh.event.first_timestamp, tenth.event.first_timestamp);
    assert_eq!(world.say("message 10"), "Patch 3 \"(combined from similar events): message 10\"");
    assert_eq!(world.say("message 3"), "Patch 2 \"message 3\"", "has an event of its own");
    let other = world.report(occurrence("api", "message 12")).unwrap();
    assert_eq!(show(&other), "Create 1 \"message 12\"", "another object");
}

#[test]
fn combining_ends_with_ten_minutes_of_silence() {
    let mut world = World::new();
    for n in 1..=10 {
        world.say(&format!("message {n}"));
    }
    let within = world.wait(600 * SECOND).say("message 11");
    assert_eq!(within, "Patch 2 \"(combined from similar events): message 11\"");
    world.wait(601 * SECOND);
    for n in 20..29 {
        assert_eq!(world.say(&format!("message {n}")), format!("Create 1 \"message {n}\""));
    }
    assert_eq!(world.say("message 29"), "Patch 3 \"(combined from similar events): message 29\"");
}

#[test]
fn spam_is_limited_to_25_and_then_one_in_five_minutes() {
    let mut world = World::new();
    for count in 1..=25 {
        assert!(world.say("no").contains(&format!(" {count} ")), "{count}");
    }
    assert_eq!([world.say("no"), world.say("another")], ["skip", "skip"]);
    assert_eq!(show(&world.report(occurrence("api", "no")).unwrap()), "Create 1 \"no\"", "another object");
    let normal = Occurrence { event_type: EventType::Normal, ..occurrence("web", "yes") };
    assert_eq!(show(&world.report(normal).unwrap()), "Create 1 \"yes\"", "another type");

    assert_eq!(world.wait(299 * SECOND).say("no"), "skip");
    assert_eq!(world.wait(SECOND).say("no"), "Patch 28 \"no\"", "with what was held back");
    assert_eq!(world.say("another"), "skip");
    let another = world.wait(300 * SECOND).say("another");
    assert_eq!(another, "Patch 3 \"another\"", "never created; the writer finds out");
    world.wait(3 * 300 * SECOND);
    let burst: Vec<_> = (0..4).map(|_| world.say("no") != "skip").collect();
    assert_eq!(burst, [true, true, true, false], "tokens add up");
    world.wait(100 * 300 * SECOND);
    assert_eq!((0..30).filter(|_| world.say("no") != "skip").count(), 25, "but not beyond the burst");
}

#[test]
fn the_memory_is_bounded() {
    let mut world = World::new();
    let objects: Vec<String> = (0..=REMEMBERED).map(|n| format!("service-{n}")).collect();
    let mut report = |object| show(&world.report(occurrence(object, "no")).unwrap());
    for object in &objects {
        assert_eq!(report(object), "Create 1 \"no\"");
    }
    assert_eq!(report(&objects[1]), "Patch 2 \"no\"", "the second is still there");
    assert_eq!(report(&objects[0]), "Create 1 \"no\"", "the first is evicted");
    let Correlator { groups, series, buckets, .. } = world.correlator;
    assert_eq!([groups.len(), series.len(), buckets.len()], [REMEMBERED; 3]);
}

#[test]
fn names_are_unique_and_valid() {
    let mut world = World::new();
    let names: BTreeSet<String> = (0..20)
        .filter_map(|n| world.report(occurrence("web", &format!("{}", n % 9))))
        .filter(|write| write.verb == Verb::Create)
        .map(|write| write.name().to_owned())
        .collect();
    assert_eq!(names.len(), 9, "at one and the same time");

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
    let mut world = World::new();
    for namespace in [None, Some(String::new())] {
        let mut occurrence = occurrence("node-1", "no");
        occurrence.object.namespace.clone_from(&namespace);
        let write = world.report(occurrence).unwrap();
        assert_eq!(write.namespace(), "default");
        assert_eq!(write.event.involved_object.namespace, namespace);
    }
}

#[test]
fn invalid_times_do_no_harm() {
    let mut world = World::new();
    for at in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
        let write = world.correlator.correlate(Occurrence { at, ..occurrence("web", "no") }, world.now);
        assert!(write.is_some());
    }
    world.correlator.last_number = u64::MAX;
    assert_eq!(world.say("other"), "Create 1 \"other\"");
}
