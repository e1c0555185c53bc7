//! List-watches against everything a server, a proxy or a network can do to them.
//!
//! The tests play in memory on a paused clock, in both encodings.

use std::time::Duration;

use endpointslice::{Node, Pod};
use http::Method;
use kube_api::Encoding;
use scripted_api::script::{Answer, Script, Step};
use scripted_api::wire::{EXPIRED, Refusal, Wire, frame, message, pod};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::world::World;
use crate::list_watch::Timing;

const PODS: &str = "/api/v1/pods";

/// A streaming list is requested.
fn list(answer: Answer) -> Step {
    let step = get(answer).has("watch=true").has("allowWatchBookmarks=true").has("sendInitialEvents=true");
    step.has("resourceVersionMatch=NotOlderThan")
        .has("timeoutSeconds")
        .lacks("resourceVersion")
        .lacks("limit")
}

/// A watch from this version is requested.
fn resume(version: &str, answer: Answer) -> Step {
    let step = get(answer).has("watch=true").has("allowWatchBookmarks=true").has("timeoutSeconds");
    step.has(&format!("resourceVersion={version}")).lacks("sendInitialEvents").lacks("resourceVersionMatch")
}

/// The first page of a list is requested.
fn first_page(answer: Answer) -> Step {
    get(answer).has("limit=500").lacks("watch").lacks("continue").lacks("resourceVersion")
}

/// A further page is requested.
fn next_page(token: &str, answer: Answer) -> Step {
    get(answer).has("limit=500").lacks("watch").has(&format!("continue={token}"))
}

fn get(answer: Answer) -> Step {
    Step::new(Method::GET, PODS, answer).lacks("labelSelector").lacks("fieldSelector")
}

/// An answer with `a` and `b`, complete at version 10, and the watch goes on.
fn listed(wire: Wire) -> Answer {
    wire.watch(&[
        wire.added(&pod("a", "1", "10.0.0.1")),
        wire.added(&pod("b", "2", "10.0.0.2")),
        wire.end_of_list("10"),
    ])
}

const LISTED: [&str; 2] = ["+a 10.0.0.1 (list)", "+b 10.0.0.2 (list)"];

/// Time enough for a watch not to have ended early.
fn a_while() -> Duration {
    Duration::from_secs(2)
}

/// Far more than any script takes, on a paused clock.
const LONG: Duration = Duration::from_secs(24 * 3600);

fn refused(code: u16) -> Refusal {
    Refusal { code, reason: "", message: "no", cause: None, retry_after: 0 }
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_ends_with_the_annotated_bookmark_and_no_other() {
    for wire in Wire::BOTH {
        let beginning = wire.watch(&[
            wire.bookmark("3"),
            wire.added(&pod("a", "1", "10.0.0.1")),
            wire.bookmark("4"),
            wire.added(&pod("b", "2", "10.0.0.2")),
            wire.bookmark("5"),
        ]);
        let world = World::play(wire, [list(beginning.hang())]).await;
        assert!(!world.is_synced(), "{wire:?}");
        assert_eq!(world.pods(), ["a 10.0.0.1", "b 10.0.0.2"], "shown as they come, {wire:?}");

        let world = World::play(wire, [list(listed(wire).hang())]).await;
        assert!(world.is_synced(), "{wire:?}");
        assert_eq!(world.changes(), LISTED);
    }
}

#[tokio::test(start_paused = true)]
async fn requests_name_their_encoding_and_timeout() {
    for (wire, accept) in Wire::BOTH
        .into_iter()
        .zip(["application/vnd.kubernetes.protobuf,application/json", "application/json"])
    {
        let steps = [list(listed(wire).pause(a_while())), resume("10", wire.watch(&[]).hang())];
        let world = World::play(wire, steps).await;
        let lifetimes = [1800..=3600, 300..=600];
        for (seen, expected) in world.script.seen().iter().zip(lifetimes) {
            assert_eq!(seen.headers["accept"], accept);
            assert_eq!(seen.headers["user-agent"], "test/1.0");
            let lifetime = seen.query.iter().find_map(|part| part.strip_prefix("timeoutSeconds=")).unwrap();
            assert!(expected.contains(&lifetime.parse().unwrap()), "{lifetime}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_from_the_last_event_or_bookmark() {
    for wire in Wire::BOTH {
        let moved = pod("a", "12", "10.0.0.3");
        let world = World::play(
            wire,
            [
                list(listed(wire).pause(a_while())),
                resume("10", wire.watch(&[wire.modified(&moved)]).pause(a_while())),
                resume("12", wire.watch(&[wire.bookmark("20")]).pause(a_while())),
                resume("20", wire.watch(&[wire.deleted(&pod("b", "25", "10.0.0.2"))]).pause(a_while())),
                resume("25", wire.watch(&[wire.added(&pod("c", "26", "10.0.0.4"))]).pause(a_while())),
                resume("26", wire.watch(&[]).hang()),
            ],
        )
        .await;
        assert_eq!(world.changes()[2..], ["~a 10.0.0.3 was a 10.0.0.1", "-b 10.0.0.2", "+c 10.0.0.4"]);
        assert_eq!(world.pods(), ["a 10.0.0.3", "c 10.0.0.4"]);
        let gaps = world.script.gaps();
        assert!(gaps.iter().all(|gap| (2.0..2.1).contains(gap)), "resumed at once, not {gaps:?}");
        assert_eq!(world.gaps_and_failures(), [0, 0]);
    }
}

/// A second list: `a` is unchanged, `b` changed, `c` new, `d` deleted.
#[tokio::test(start_paused = true)]
async fn an_expired_watch_relists_and_reports_missed_changes() {
    for wire in Wire::BOTH {
        let without_code = Refusal { code: 0, ..EXPIRED };
        for expired in [
            wire.refusal(&EXPIRED),
            Answer::new(410, "text/plain", "gone"),
            wire.watch(&[wire.error(&EXPIRED)]),
            wire.watch(&[wire.error(&EXPIRED)]).pause(a_while()),
            wire.watch(&[wire.error(&without_code)]),
        ] {
            let first = wire.watch(&[
                wire.added(&pod("a", "1", "10.0.0.1")),
                wire.added(&pod("b", "2", "10.0.0.2")),
                wire.added(&pod("d", "3", "10.0.0.4")),
                wire.added(&pod("e", "4", "10.0.0.5")),
                wire.end_of_list("10"),
            ]);
            let second = wire.watch(&[
                wire.added(&pod("a", "1", "10.0.0.1")),
                wire.added(&pod("b", "15", "10.0.0.7")),
                wire.added(&pod("c", "16", "10.0.0.3")),
                wire.added(&pod("e", "17", "10.0.0.5").reborn()),
                wire.end_of_list("20"),
            ]);
            let steps = [
                list(first.pause(a_while())),
                resume("10", expired),
                list(second.pause(a_while())),
                resume("20", wire.watch(&[]).hang()),
            ];
            let world = World::play(wire, steps).await;
            let expected = [
                "~b 10.0.0.7 was b 10.0.0.2 (list)",
                "+c 10.0.0.3 (list)",
                "~e 10.0.0.5 was e 10.0.0.5 (list)",
                "-d 10.0.0.4",
            ];
            assert_eq!(world.changes()[4..], expected, "{wire:?}");
            assert_eq!(world.gaps_and_failures(), [1, 1]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_old_content_is_served_during_a_list() {
    for wire in Wire::BOTH {
        let half = wire.watch(&[wire.added(&pod("a", "15", "10.0.0.9"))]);
        let steps =
            [list(listed(wire).pause(a_while())), resume("10", wire.refusal(&EXPIRED)), list(half.hang())];
        let world = World::play(wire, steps).await;
        assert_eq!(world.pods(), ["a 10.0.0.9", "b 10.0.0.2"]);
        assert!(world.is_synced(), "once synced, always synced");
    }
}

/// A server whose history is always too short must not be sent a list request ten times a second.
#[tokio::test(start_paused = true)]
async fn a_server_that_expires_every_watch_is_not_overloaded() {
    for wire in Wire::BOTH {
        let forget = || list(listed(wire).then(wire.error(&EXPIRED)));
        let steps = std::iter::repeat_with(forget).take(8).chain([list(listed(wire).hang())]);
        let world = World::play(wire, steps).await;
        let gaps = world.script.gaps();
        assert!(gaps.iter().all(|gap| *gap >= 0.8) && gaps[7] >= 30.0, "{gaps:?}");
        assert_eq!(world.changes(), LISTED);
        drop(world);

        let page = || wire.page(&[], "10", "");
        let forget = || [first_page(page()), resume("10", wire.refusal(&EXPIRED))];
        let steps = std::iter::repeat_with(forget).take(8).flatten();
        let steps = [list(wire.refusal(&refused(400)))].into_iter().chain(steps);
        let world =
            World::play(wire, steps.chain([first_page(page()), resume("10", wire.watch(&[]).hang())])).await;
        let total: f64 = world.script.gaps().iter().sum();
        assert!(total > 30.0, "{:?}", world.script.gaps());
    }
}

/// Nor one whose watches work until they are resumed, as behind a proxy in front of a server that restarts.
#[tokio::test(start_paused = true)]
async fn lists_that_are_complete_each_time_do_not_repeat_without_a_back_off() {
    for wire in Wire::BOTH {
        let forget = || [list(listed(wire).pause(a_while())), resume("10", wire.refusal(&EXPIRED))];
        let steps = std::iter::repeat_with(forget).take(8).flatten().chain([list(listed(wire).hang())]);
        let world = World::play(wire, steps).await;
        let gaps = world.script.gaps();
        assert!(gaps.iter().step_by(2).all(|gap| (2.0..2.1).contains(gap)), "resumed at once: {gaps:?}");
        let delays = gaps.iter().skip(1).step_by(2);
        for (delay, at_least) in delays.zip([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]) {
            assert!(*delay >= at_least, "{wire:?} {gaps:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_without_streaming_lists_is_listed_in_pages() {
    for wire in Wire::BOTH {
        for refusal in
            [wire.refusal(&refused(422)), wire.refusal(&refused(400)), Answer::new(400, "", "what?")]
        {
            let (a, b, c) = (pod("a", "1", "10.0.0.1"), pod("b", "2", "10.0.0.2"), pod("c", "3", "10.0.0.3"));
            let steps = [
                list(refusal),
                first_page(wire.page(&[a.clone(), b], "10", "to+ken/1==")),
                next_page("to%2Bken%2F1%3D%3D", wire.page(&[], "10", "2")),
                next_page("2", wire.page(&[c], "10", "")),
                resume("10", wire.watch(&[]).pause(a_while())),
                resume("10", wire.refusal(&EXPIRED)),
                first_page(wire.page(&[a], "20", "")),
                resume("20", wire.watch(&[]).hang()),
            ];
            let world = World::play(wire, steps).await;
            assert!(world.is_synced());
            let expected = [LISTED[0], LISTED[1], "+c 10.0.0.3 (list)", "-b 10.0.0.2", "-c 10.0.0.3"];
            assert_eq!(world.changes(), expected, "{wire:?}");
            assert!(world.script.gaps()[..4].iter().all(|gap| *gap < 0.1), "no back-off in between");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn expired_pages_are_followed_by_one_list_without_pages() {
    for wire in Wire::BOTH {
        let (a, b) = (pod("a", "1", "10.0.0.1"), pod("b", "2", "10.0.0.2"));
        let whole =
            |answer| get(answer).lacks("limit").lacks("continue").lacks("resourceVersion").lacks("watch");
        let steps = [
            list(wire.refusal(&refused(400))),
            first_page(wire.page(&[a, b.clone()], "10", "1")),
            next_page("1", wire.refusal(&EXPIRED)),
            whole(wire.page(&[b], "20", "")),
            resume("20", wire.watch(&[]).hang()),
        ];
        let world = World::play(wire, steps).await;
        assert_eq!(world.changes(), [LISTED[0], LISTED[1], "-a 10.0.0.1"], "{wire:?}");
        assert!(world.script.gaps().iter().all(|gap| *gap < 0.1), "no back-off in between");
    }
}

/// Of many pages, one is refused now and then by an API server that sheds load.
#[tokio::test(start_paused = true)]
async fn a_page_that_is_refused_is_requested_again() {
    for wire in Wire::BOTH {
        let (a, b) = (pod("a", "1", "10.0.0.1"), pod("b", "2", "10.0.0.2"));
        let busy = Refusal { retry_after: 7, ..refused(429) };
        let steps = [
            list(wire.refusal(&refused(400))),
            first_page(wire.page(&[a], "10", "1")),
            next_page("1", wire.refusal(&busy)),
            next_page("1", wire.refusal(&refused(503))),
            next_page("1", wire.page(&[b], "10", "")),
            resume("10", wire.watch(&[]).hang()),
        ];
        let world = World::play(wire, steps).await;
        assert_eq!(world.changes(), LISTED, "{wire:?}");
        assert!(world.script.gaps()[2] >= 7.0, "{:?}", world.script.gaps());
    }
}

/// It may be gigabytes, so that only silence counts against it.
#[tokio::test(start_paused = true)]
async fn a_list_without_pages_may_take_as_long_as_data_arrives() {
    let wire = Wire(Encoding::Json);
    let slow = Answer::new(200, wire.content_type(), r#"{"metadata":{"resourceVersion":"20"},"items":["#);
    let slow = (0..9).fold(slow, |answer, _| answer.pause(Duration::from_secs(20)).then(" ")).then("]}");
    let expired = || {
        [
            list(wire.refusal(&refused(400))),
            first_page(wire.page(&[], "10", "1")),
            next_page("1", wire.refusal(&EXPIRED)),
        ]
    };
    let steps = expired().into_iter().chain([get(slow), resume("20", wire.watch(&[]).hang())]);
    assert!(World::play(wire, steps).await.is_synced());

    let silent = Answer::new(200, wire.content_type(), "{").hang();
    let again = [first_page(wire.page(&[], "10", "")), resume("10", wire.watch(&[]).hang())];
    let steps = expired().into_iter().chain([get(silent)]).chain(again);
    let world = World::play(wire, steps).await;
    let gap = world.script.gaps()[3];
    assert!((30.8..31.7).contains(&gap), "a silence and a back-off, not {gap}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_inside_the_list_deletes_nothing() {
    for wire in Wire::BOTH {
        let beginning = || wire.watch(&[wire.added(&pod("a", "1", "10.0.0.1")), wire.bookmark("5")]);
        let steps = [
            list(beginning()),
            list(beginning().cut()),
            list(listed(wire).pause(a_while())),
            resume("10", wire.refusal(&EXPIRED)),
            list(beginning().then(wire.error(&refused(500)))),
            list(listed(wire).hang()),
        ];
        let world = World::play(wire, steps).await;
        assert_eq!(world.changes(), LISTED, "{wire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_event_is_requested_again() {
    for wire in Wire::BOTH {
        let (first, second) = (pod("a", "11", "10.0.0.3"), pod("b", "12", "10.0.0.4"));
        let whole = wire.modified(&second);
        for length in [1, 3, 4, 5, whole.len() / 2, whole.len() - 1] {
            let cut_event = || wire.watch(&[wire.modified(&first), whole.slice(..length)]);
            let steps = [
                list(listed(wire).pause(a_while())),
                resume("10", cut_event().cut()),
                resume("11", wire.watch(&[whole.slice(..length)])),
                resume("11", wire.watch(std::slice::from_ref(&whole)).hang()),
            ];
            let world = World::play(wire, steps).await;
            let expected = ["~a 10.0.0.3 was a 10.0.0.1", "~b 10.0.0.4 was b 10.0.0.2"];
            assert_eq!(world.changes()[2..], expected, "{wire:?} cut after {length}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn chunk_boundaries_in_a_stream_do_not_matter() {
    for wire in Wire::BOTH {
        for size in [1, 2, 5, 64, 1000] {
            let events = wire.watch(&[wire.deleted(&pod("a", "11", "10.0.0.1")), wire.bookmark("12")]);
            let steps = [
                list(listed(wire).in_chunks_of(size).pause(a_while())),
                resume("10", events.in_chunks_of(size).pause(a_while())),
                resume("12", wire.watch(&[]).hang()),
            ];
            let world = World::play(wire, steps).await;
            assert_eq!(world.changes(), [LISTED[0], LISTED[1], "-a 10.0.0.1"], "{wire:?} in {size}");
        }
    }
}

/// Nonsense on the wire may be a damaged byte or come again and again from the same place in history. Listing again
/// gets past both.
#[tokio::test(start_paused = true)]
async fn malformed_events_lead_to_a_relist() {
    for wire in Wire::BOTH {
        let nonsense = match wire {
            Wire(Encoding::Protobuf) => {
                [vec![0xff; 40], frame(b"\xff\xff"), frame(b""), frame(b"\x0a\x05ADDED\x12\x03\x0a\x01x")]
            }
            Wire(Encoding::Json) => [
                b"\xff\xff\n".to_vec(),
                b"{\"type\":\"ADDED\"}\n".to_vec(),
                b"{\"type\":\"ADDED\",\"object\":7}\n".to_vec(),
                b"<html>Welcome to our proxy</html>\n".to_vec(),
            ],
        };
        let unknown = wire.event("EXPLODED", &pod("a", "1", "10.0.0.1")).to_vec();
        for nonsense in nonsense.into_iter().chain([unknown]) {
            let steps = [
                list(wire.watch(&[]).then(nonsense.clone())),
                list(listed(wire).pause(a_while())),
                resume("10", wire.watch(&[wire.bookmark("11")]).then(nonsense.clone())),
                list(listed(wire).hang()),
            ];
            let world = World::play(wire, steps).await;
            assert_eq!(world.changes(), LISTED, "{wire:?}");
            let gaps = world.script.gaps();
            assert!(gaps[0] >= 0.8 && gaps[2] >= 0.8, "with back-off, not {gaps:?}");
        }
    }
}

/// A resourceVersion that the server finds unreadable will not become readable.
#[tokio::test(start_paused = true)]
async fn a_rejected_resource_version_leads_to_a_relist() {
    for wire in Wire::BOTH {
        for code in [400, 422] {
            let steps = [
                list(listed(wire).pause(a_while())),
                resume("10", wire.refusal(&refused(code))),
                list(listed(wire).hang()),
            ];
            World::play(wire, steps).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn other_rejections_keep_the_resource_version() {
    for wire in Wire::BOTH {
        for code in [401, 403, 404, 429, 500, 502, 503, 504] {
            let steps = [
                list(listed(wire).pause(a_while())),
                resume("10", wire.refusal(&refused(code))),
                resume("10", wire.watch(&[wire.error(&refused(code))])),
                resume("10", Answer::new(code, "text/html", "<html>")),
                resume("10", wire.watch(&[]).hang()),
            ];
            let world = World::play(wire, steps).await;
            assert!(world.script.gaps()[1..].iter().all(|gap| *gap >= 0.8));
            assert_eq!(world.gaps_and_failures(), [0, 3]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_object_keeps_its_old_state_and_blocks_no_other() {
    for wire in Wire::BOTH {
        let (a, c) = (pod("a", "11", "10.0.0.9").broken(), pod("c", "13", "10.0.0.3"));
        let streamed = wire.watch(&[
            wire.added(&pod("b", "2", "10.0.0.2")),
            wire.added(&a),
            wire.added(&pod("n", "3", "10.0.0.4").broken()),
            wire.added(&c),
            wire.end_of_list("20"),
        ]);
        let live = wire.watch(&[wire.modified(&a), wire.added(&c), wire.modified(&a)]);
        let steps = [
            list(listed(wire).pause(a_while())),
            resume("10", live.pause(a_while())),
            // The place in history moves on, or the object would be met for ever.
            resume("11", wire.refusal(&EXPIRED)),
            list(streamed.pause(a_while())),
            resume("20", wire.refusal(&refused(400))),
            list(wire.refusal(&refused(400))),
            first_page(wire.page(&[a, c, pod("b", "2", "10.0.0.2")], "30", "")),
            resume("30", wire.watch(&[]).hang()),
        ];
        let world = World::play(wire, steps).await;
        assert_eq!(world.changes(), [LISTED[0], LISTED[1], "+c 10.0.0.3"], "{wire:?}");
        assert_eq!(world.unreadable("pods"), 5, "{wire:?}");
    }
}

/// No event tells of its end, and until then nothing of its kind counts as deleted.
#[tokio::test(start_paused = true)]
async fn an_object_without_a_readable_name_is_followed_by_a_list_half_an_hour_later() {
    for wire in Wire::BOTH {
        let unnamed = wire.watch(&[wire.added(&pod("", "1", "10.0.0.1").broken()), wire.end_of_list("10")]);
        let quiet = std::iter::repeat_with(|| resume("10", wire.watch(&[]).pause(Duration::from_secs(140))));
        let steps = [list(unnamed.pause(a_while()))].into_iter().chain(quiet.take(13));
        let world = World::play(wire, steps.chain([list(listed(wire).hang())])).await;
        assert_eq!((world.changes(), world.unreadable("pods")), (LISTED.map(str::to_owned).to_vec(), 1));
        assert!(world.cache.read(|state| state.pods.check_absent("shop", "n").is_ok()), "{wire:?}");
        assert_eq!(world.gaps_and_failures(), [0, 0], "nothing was missed");
    }
}

/// In metadata, too: what names an object is read on its own.
#[tokio::test(start_paused = true)]
async fn an_object_with_unreadable_metadata_is_skipped_as_well() {
    let wire = Wire(Encoding::Json);
    let mut strange = pod("a", "11", "10.0.0.9").json();
    strange["metadata"]["creationTimestamp"] = json!("the day before yesterday");
    let live = wire.watch(&[wire.raw_event("MODIFIED", "Pod", b"", &strange)]);
    let steps = [
        list(listed(wire).pause(a_while())),
        resume("10", live.pause(a_while())),
        resume("11", Answer::never()),
    ];
    assert_eq!(World::play(wire, steps).await.changes(), LISTED);
}

/// In the first list, where nothing older is known of it: everything else is shown, and its absence is not a deletion.
#[tokio::test(start_paused = true)]
async fn an_object_with_damaged_metadata_in_the_first_list_does_not_count_as_deleted() {
    for wire in Wire::BOTH {
        let metadata = message(&[(1, b"n"), (3, b"shop"), (6, b"5")]);
        let raw = message(&[(1, &[metadata.as_slice(), b"\x0a\xff"].concat())]);
        let mut json = pod("n", "5", "10.0.0.4").json();
        json["metadata"]["annotations"] = json!(7);
        let streamed = wire.watch(&[
            wire.added(&pod("a", "1", "10.0.0.1")),
            wire.raw_event("ADDED", "Pod", &raw, &json),
            wire.end_of_list("10"),
        ]);
        let world = World::play(wire, [list(streamed.hang())]).await;
        assert!(world.is_synced());
        assert_eq!((world.pods(), world.unreadable("pods")), (vec!["a 10.0.0.1".to_owned()], 1));
        let is_absent = |name| world.cache.read(|state| state.pods.check_absent("shop", name)).is_ok();
        assert_eq!((is_absent("n"), is_absent("m")), (false, true), "{wire:?}");
    }
}

/// A deletion is identified by the name alone.
#[tokio::test(start_paused = true)]
async fn an_unreadable_object_that_is_deleted_is_gone() {
    for wire in Wire::BOTH {
        let deleted = wire.watch(&[wire.deleted(&pod("a", "11", "10.0.0.1").broken())]);
        let steps = [
            list(listed(wire).pause(a_while())),
            resume("10", deleted.pause(a_while())),
            resume("11", wire.watch(&[]).hang()),
        ];
        let world = World::play(wire, steps).await;
        assert_eq!(world.pods(), ["b 10.0.0.2"], "{wire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_without_a_valid_version_keeps_the_last_one() {
    for wire in Wire::BOTH {
        let events = wire.watch(&[wire.bookmark(""), wire.added(&pod("c", "", "10.0.0.3"))]);
        let steps = [
            list(listed(wire).pause(a_while())),
            resume("10", events.pause(a_while())),
            resume("10", wire.watch(&[wire.bookmark("a b&watch=false\u{e9}")]).pause(a_while())),
            resume("a%20b%26watch%3Dfalse%C3%A9", wire.watch(&[]).hang()),
        ];
        let world = World::play(wire, steps).await;
        assert_eq!(world.changes()[2..], ["+c 10.0.0.3"], "{wire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn blank_lines_are_skipped() {
    let wire = Wire::BOTH[1];
    let steps = [list(wire.watch(&[]).then("\n\r\n").then(listed_json(wire)).hang())];
    assert_eq!(World::play(wire, steps).await.changes(), LISTED);
}

fn listed_json(wire: Wire) -> Vec<u8> {
    let a = wire.added(&pod("a", "1", "10.0.0.1"));
    let b = wire.added(&pod("b", "2", "10.0.0.2"));
    [&a[..], b"\n", &b, b"\n\n", &wire.end_of_list("10")].concat()
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_goes_silent_is_resumed() {
    for wire in Wire::BOTH {
        let steps = [
            list(listed(wire).hang()),
            resume(
                "10",
                wire.watch(&[wire.bookmark("11")])
                    .pause(Duration::from_secs(140))
                    .then(wire.bookmark("12"))
                    .hang(),
            ),
            resume("12", Answer::never()),
            resume("12", wire.watch(&[wire.added(&pod("c", "13", "10.0.0.3"))]).hang()),
        ];
        let world = World::play(wire, steps).await;
        assert_eq!(world.changes()[2..], ["+c 10.0.0.3"], "{wire:?}");
        let gaps = world.script.gaps();
        assert!((150.0..160.0).contains(&gaps[0]), "{gaps:?}");
        assert!((290.0..300.0).contains(&gaps[1]), "140 s without an event is ordinary, {gaps:?}");
        assert!((30.0..40.0).contains(&gaps[2]), "a header comes sooner, {gaps:?}");
    }
}

/// A server that ignores `timeoutSeconds` but keeps talking.
#[tokio::test(start_paused = true)]
async fn a_watch_ends_after_its_lifetime() {
    for wire in Wire::BOTH {
        let chatty = (11..40).fold(wire.watch(&[]), |answer, version| {
            answer.pause(Duration::from_secs(60)).then(wire.bookmark(&version.to_string()))
        });
        let script = Script::new([
            list(listed(wire).pause(a_while())),
            resume("10", chatty),
            get(wire.watch(&[]).hang()).has("resourceVersion").lacks("sendInitialEvents"),
        ]);
        let world = World::start::<Pod>(script.client(), &script, wire, Timing::default());
        script.played(Duration::from_secs(3600)).await;
        let gap = world.script.gaps()[1];
        assert!((310.0..615.0).contains(&gap), "{gap}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_streaming_list_is_requested_in_pages() {
    for wire in Wire::BOTH {
        let half = wire.watch(&[wire.added(&pod("a", "1", "10.0.0.1"))]);
        for silent in [wire.watch(&[]).hang(), half.hang(), Answer::never()] {
            let steps = [
                list(silent),
                first_page(wire.page(&[pod("b", "2", "10.0.0.2")], "10", "")),
                resume("10", wire.watch(&[]).hang()),
            ];
            let world = World::play(wire, steps).await;
            assert_eq!(world.pods(), ["b 10.0.0.2"], "{wire:?}");
            let gaps = world.script.gaps();
            assert!((30.0..40.0).contains(&gaps[0]), "{gaps:?}");
        }
    }
}

/// A proxy with limits on streams, or an API server that closes slow ones under churn (kubernetes#129197): the next
/// stream will not end better.
#[tokio::test(start_paused = true)]
async fn after_three_broken_streaming_lists_pages_are_requested() {
    for wire in Wire::BOTH {
        let beginning = || wire.watch(&[wire.added(&pod("a", "1", "10.0.0.1"))]).pause(a_while());
        let end = Answer::new(502, "text/html", "<html>");
        for third in [beginning(), beginning().cut(), beginning().then(wire.error(&refused(504))), end] {
            let steps = [
                list(beginning().cut()),
                list(beginning()),
                list(third),
                first_page(wire.page(&[pod("b", "2", "10.0.0.2")], "10", "")),
                resume("10", wire.watch(&[]).hang()),
            ];
            let world = World::play(wire, steps).await;
            assert_eq!(world.pods(), ["b 10.0.0.2"], "{wire:?}");
        }
    }
}

/// It may have been busy, and by now it may be another server.
#[tokio::test(start_paused = true)]
async fn streaming_lists_are_retried_later() {
    let silence = Duration::from_secs(140);
    for wire in Wire::BOTH {
        for failed in [wire.watch(&[]).hang(), wire.refusal(&refused(400))] {
            let page = || wire.page(&[pod("b", "2", "10.0.0.2")], "10", "");
            let quiet = std::iter::repeat_with(|| resume("10", wire.watch(&[]).pause(silence)));
            let steps = [list(failed), first_page(page()), resume("10", wire.refusal(&EXPIRED))];
            let steps = steps.into_iter().chain([first_page(page())]).chain(quiet.take(5));
            let steps = steps.chain([resume("10", wire.refusal(&EXPIRED)), list(listed(wire).hang())]);
            let world = World::play(wire, steps).await;
            assert_eq!(world.pods(), ["a 10.0.0.1", "b 10.0.0.2"], "{wire:?}");
        }
    }
}

/// Some proxies answer everything with an empty object. That does not mean that all pods were deleted.
#[tokio::test(start_paused = true)]
async fn a_list_without_a_resource_version_is_rejected() {
    for wire in Wire::BOTH {
        let page = |version| wire.page(&[pod("a", "1", "10.0.0.1"), pod("b", "2", "10.0.0.2")], version, "");
        let steps = [
            list(listed(wire).pause(a_while())),
            resume("10", wire.refusal(&EXPIRED)),
            list(wire.watch(&[wire.end_of_list("")]).hang()),
            list(wire.refusal(&refused(400))),
            first_page(wire.page(&[], "", "")),
            first_page(wire.page(&[], "", "more")),
            first_page(page("20")),
            resume("20", wire.watch(&[]).hang()),
        ];
        let world = World::play(wire, steps).await;
        assert_eq!(world.changes(), LISTED, "{wire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_that_never_ends_times_out() {
    for wire in Wire::BOTH {
        let page = || wire.page(&[pod("a", "1", "10.0.0.1")], "10", "");
        let endless = Answer::new(200, wire.content_type(), "k8s").hang();
        let steps = [
            list(wire.refusal(&refused(400))),
            first_page(endless),
            first_page(Answer::never()),
            first_page(page()),
            resume("10", wire.watch(&[]).hang()),
        ];
        World::play(wire, steps).await;
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured() {
    for wire in Wire::BOTH {
        let told = |code| Refusal { retry_after: 7, ..refused(code) };
        let in_header = |code| Answer::new(code, "text/plain", "slow down").header("retry-after", "7");
        let steps = [
            list(wire.refusal(&told(429))),
            list(in_header(503)),
            list(wire.refusal(&refused(422))),
            first_page(in_header(429)),
            first_page(wire.page(&[], "10", "")),
            resume("10", wire.refusal(&told(503))),
            resume("10", wire.watch(&[wire.error(&told(429))])),
            resume("10", wire.watch(&[]).hang()),
        ];
        let world = World::play(wire, steps).await;
        let gaps = world.script.gaps();
        for refused in [0, 1, 3, 5, 6] {
            assert!(gaps[refused] >= 7.0, "{refused}: {gaps:?}");
        }
    }
}

/// It was not served at all: that says nothing about streams.
#[tokio::test(start_paused = true)]
async fn retry_after_does_not_count_as_a_failed_streaming_list() {
    for wire in Wire::BOTH {
        let busy = || list(wire.refusal(&Refusal { retry_after: 7, ..refused(429) }));
        let world = World::play(wire, [busy(), busy(), busy(), busy(), list(listed(wire).hang())]).await;
        assert!(world.is_synced(), "{wire:?}");
    }
}

/// A cache must not stand still for a day because a proxy says so, nor between the pages of a list.
#[tokio::test(start_paused = true)]
async fn a_long_retry_after_is_capped_and_an_invalid_one_ignored() {
    for wire in Wire::BOTH {
        let tomorrow = || Answer::new(429, "", "").header("retry-after", "86400");
        let steps = [
            list(tomorrow()),
            list(Answer::new(503, "", "").header("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")),
            list(wire.refusal(&refused(400))),
            first_page(wire.page(&[], "10", "1")),
            next_page("1", tomorrow()),
            next_page("1", wire.page(&[], "10", "")),
            resume("10", wire.watch(&[]).hang()),
        ];
        let world = World::play(wire, steps).await;
        let gaps = world.script.gaps();
        let is_capped = |gap: f64| (10.0..=60.1).contains(&gap);
        assert!(is_capped(gaps[0]) && gaps[1] < 4.0 && is_capped(gaps[4]), "{gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_with_growing_delays_for_ever() {
    for wire in Wire::BOTH {
        let failures = (0..3).map(|_| list(wire.refusal(&refused(500))));
        let failures = failures.chain((0..8).map(|_| first_page(wire.refusal(&refused(500)))));
        let last = [first_page(wire.page(&[], "10", "")), resume("10", wire.watch(&[]).hang())];
        let world = World::play(wire, failures.chain(last)).await;
        let gaps = world.script.gaps();
        let expected = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6].into_iter().chain(std::iter::repeat(30.0));
        for (gap, expected) in gaps[..11].iter().zip(expected) {
            assert!((expected..=2.0 * expected + 0.01).contains(gap), "{gaps:?}");
        }
        assert!(world.is_synced());
    }
}

/// Also between two attempts, and while one is not answered: a counter of failures rises only at the end of each.
#[tokio::test(start_paused = true)]
async fn a_cache_is_live_unless_its_watch_has_ended_and_none_continues() {
    for wire in Wire::BOTH {
        let refusals = (0..9).map(|_| resume("10", wire.refusal(&refused(403))));
        let steps = [list(listed(wire).pause(a_while()))].into_iter().chain(refusals);
        let script = Script::new(steps.chain([resume("10", wire.watch(&[]).hang())]));
        let world = World::start::<Pod>(script.client(), &script, wire, Timing::default());
        assert!(!world.is_live(), "before the first list");
        let mut states = Vec::new();
        while timeout(Duration::from_secs(1), script.played(LONG)).await.is_err() {
            states.push(world.is_live());
        }
        let without = states.iter().filter(|is_live| !*is_live).count();
        assert!(without > 120, "{without} s without a watch");
        sleep(Duration::from_secs(1)).await;
        states.push(world.is_live());
        states.dedup();
        assert_eq!(states, [true, false, true], "{wire:?}");
    }
}

/// A load balancer with an idle timeout, as in kubeadm's guide to high availability: quiet kinds are cut again and
/// again.
#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_after_a_second_is_resumed_at_once_each_time() {
    let quiet = Duration::from_secs(20);
    for wire in Wire::BOTH {
        let half = wire.added(&pod("c", "11", "10.0.0.3"));
        let half = half.slice(..half.len() / 2);
        let cuts = (0..20).map(|n| {
            let watch = wire.watch(&[]).pause(quiet);
            resume("10", if n % 2 == 0 { watch.cut() } else { watch.then(half.clone()).cut() })
        });
        let steps = [list(listed(wire).pause(quiet).cut())].into_iter().chain(cuts);
        let world = World::play(wire, steps.chain([resume("10", wire.watch(&[]).hang())])).await;
        let gaps = world.script.gaps();
        assert!(gaps.iter().all(|gap| (20.0..21.0).contains(gap)), "{wire:?} {gaps:?}");
    }
}

/// Earlier failures no longer count.
#[tokio::test(start_paused = true)]
async fn a_working_watch_resets_the_back_off() {
    for wire in Wire::BOTH {
        let failures = || (0..6).map(|_| resume("10", wire.refusal(&refused(500))));
        let working = [wire.watch(&[]).pause(a_while()).cut(), wire.watch(&[]).pause(a_while())];
        for working in working {
            let steps = [list(listed(wire).pause(a_while()))].into_iter().chain(failures());
            let steps = steps.chain([resume("10", working), resume("10", wire.refusal(&refused(500)))]);
            let world = World::play(wire, steps.chain([resume("10", wire.watch(&[]).hang())])).await;
            let gaps = world.script.gaps();
            assert!(gaps[6] > 25.0 && gaps[8] < 1.7, "{gaps:?}");
        }
    }
}

/// One that is accepted, and ended or cut within a second, is as good as refused.
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_waits_before_it_is_resumed() {
    for wire in Wire::BOTH {
        let cut = || wire.watch(&[]).pause(Duration::from_millis(900)).cut();
        for ends in [
            (0..8).map(|_| resume("10", cut())).collect::<Vec<_>>(),
            (0..8).map(|_| resume("10", wire.watch(&[]))).collect(),
        ] {
            let steps = [list(listed(wire).pause(a_while()))].into_iter().chain(ends);
            let world = World::play(wire, steps.chain([resume("10", wire.watch(&[]).hang())])).await;
            let gaps = world.script.gaps();
            assert!(gaps.iter().all(|gap| *gap >= 0.8) && gaps[8] >= 30.0, "{gaps:?}");
        }
    }
}

/// A new leader waits for this: an open watch need not have delivered missed events yet.
#[tokio::test(start_paused = true)]
async fn a_relist_request_completes_with_a_list_that_was_requested_later() {
    for wire in Wire::BOTH {
        let second = wire.watch(&[wire.added(&pod("a", "15", "10.0.0.9"))]).pause(a_while());
        let script = Script::new([
            list(listed(wire).pause(a_while())),
            // Resumed, and then nothing: late, or a connection that is dead.
            resume("10", wire.watch(&[]).hang()),
            list(second.then(wire.end_of_list("20")).pause(a_while())),
            resume("20", wire.watch(&[]).hang()),
        ]);
        let mut world = World::start::<Pod>(script.client(), &script, wire, Timing::default());
        sleep(2 * a_while()).await;
        assert!(world.is_synced() && script.seen().len() <= 2, "no list but the first without a request");
        let requested = Instant::now();
        let since = world.request_relist();
        world.listed_since(since).await;
        let waited = requested.elapsed().as_secs_f64();
        assert!((2.0..2.1).contains(&waited), "requested at once, and complete after that: {waited}");
        assert_eq!(world.pods(), ["a 10.0.0.9"]);
        script.played(LONG).await;
    }
}

/// The list in progress may be of a moment before the relist request.
#[tokio::test(start_paused = true)]
async fn a_relist_request_interrupts_whatever_is_in_progress() {
    for wire in Wire::BOTH {
        let beginning = || wire.watch(&[wire.added(&pod("a", "1", "10.0.0.1"))]);
        for under_way in [Answer::never(), beginning().hang()] {
            let script = Script::new([list(under_way), list(listed(wire).hang())]);
            let mut world = World::start::<Pod>(script.client(), &script, wire, Timing::default());
            sleep(a_while()).await;
            let since = world.request_relist();
            world.listed_since(since).await;
            assert_eq!(world.changes(), LISTED);
            assert!(script.gaps()[0] < 2.1, "{:?}", script.gaps());
        }

        let page = || wire.page(&[pod("a", "1", "10.0.0.1")], "10", "more");
        let script = Script::new([
            list(wire.refusal(&refused(400))),
            first_page(page()),
            next_page("more", Answer::never()),
            first_page(page()),
            next_page("more", wire.page(&[], "10", "")),
            resume("10", wire.watch(&[]).hang()),
        ]);
        let mut world = World::start::<Pod>(script.client(), &script, wire, Timing::default());
        sleep(a_while()).await;
        let since = world.request_relist();
        world.listed_since(since).await;
        script.played(LONG).await;
    }
}

/// None is lost, whenever it comes.
#[tokio::test(start_paused = true)]
async fn a_relist_request_survives_failures() {
    for wire in Wire::BOTH {
        let failure = || list(wire.refusal(&refused(500)));
        let steps = [list(listed(wire).hang()), failure(), failure(), list(listed(wire).hang())];
        let script = Script::new(steps);
        let mut world = World::start::<Pod>(script.client(), &script, wire, Timing::default());
        sleep(a_while()).await;
        assert!(world.is_synced());
        let since = world.request_relist();
        world.listed_since(since).await;
        script.played(LONG).await;
    }
}

/// A new leader does this if its watches are in long delays after an outage.
#[tokio::test(start_paused = true)]
async fn a_relist_request_ends_the_wait_between_attempts() {
    for wire in Wire::BOTH {
        let failure = |code| resume("10", wire.refusal(&refused(code)));
        let overload = Refusal { retry_after: 5, ..refused(503) };
        let script = Script::new([
            list(listed(wire).pause(a_while())),
            failure(500),
            failure(500),
            failure(500),
            failure(500),
            failure(500),
            failure(500),
            list(wire.refusal(&overload)),
            list(listed(wire).hang()),
        ]);
        let mut world = World::start::<Pod>(script.client(), &script, wire, Timing::default());
        // All six have failed by 2 + 49.6 s at the latest, and the last delay is 25.6 s at least from 26.8 s on.
        sleep(Duration::from_secs(52)).await;
        assert_eq!(script.seen().len(), 7);
        let requested = Instant::now();
        for _ in 0..10 {
            world.request_relist();
            sleep(Duration::from_millis(300)).await;
        }
        world.listed_since(kube_api::time::Instant::now()).await;
        let waited = requested.elapsed().as_secs_f64();
        assert!((5.0..5.1).contains(&waited), "only for what the server asked: {waited}");
    }
}

/// Proxies that know nothing of protobuf, and the other way round: the answer's own header decides.
#[tokio::test(start_paused = true)]
async fn the_response_may_be_in_the_other_encoding() {
    for (asked, answered) in [(Wire::BOTH[0], Wire::BOTH[1]), (Wire::BOTH[1], Wire::BOTH[0])] {
        let steps = [
            list(answered.refusal(&refused(422))),
            first_page(answered.page(&[], "5", "")),
            resume("5", answered.refusal(&EXPIRED)),
            first_page(answered.page(&[], "10", "")),
            resume("10", answered.watch(&[answered.added(&pod("a", "11", "10.0.0.1"))]).hang()),
        ];
        assert_eq!(World::play(asked, steps).await.pods(), ["a 10.0.0.1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_without_a_namespace_is_added_and_deleted() {
    for wire in Wire::BOTH {
        let name = message(&[(1, b"n"), (6, b"5")]);
        let json =
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "resourceVersion": "5"}});
        let node = |event| wire.raw_event(event, "Node", &message(&[(1, &name)]), &json);
        let nodes = |answer| Step::new(Method::GET, "/api/v1/nodes", answer);
        let steps = [nodes(wire.watch(&[node("ADDED"), wire.end_of_list("10")]).hang())];
        let world = World::play_kind::<Node>(wire, steps).await;
        assert!(world.cache.read(|state| state.nodes.get("", "n").is_some()));
        let steps = [nodes(wire.watch(&[node("ADDED"), wire.end_of_list("10"), node("DELETED")]).hang())];
        let world = World::play_kind::<Node>(wire, steps).await;
        assert_eq!(world.cache.read(|state| state.nodes.len()), 0);
    }
}
