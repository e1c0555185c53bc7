use super::*;

use proptest::prelude::*;

/// A mode and its clock.
struct Scene {
    mode: Mode,
    now: Instant,
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

const SYNC: Decided = Decided { decision: Decision::Sync, begins_to_act: false };
/// A Service that is in sync, while another writer was seen: a sync could write what came after the look.
const SKIP: Decided = Decided { decision: Decision::Skip, begins_to_act: false };
const ACT: Decided = Decided { decision: Decision::Sync, begins_to_act: true };

fn after(rest: f64) -> Decided {
    Decided { decision: Decision::After(seconds(rest)), begins_to_act: false }
}

impl Scene {
    fn new() -> Self {
        Self { mode: Mode::default(), now: Instant::now() }
    }

    fn wait(&mut self, time: f64) {
        self.now += seconds(time);
    }

    fn wrong(&mut self, name: &str) -> Decided {
        self.mode.decide(&key(name), self.now, true, self.now)
    }

    fn right(&mut self, name: &str) -> Decided {
        self.mode.decide(&key(name), self.now, false, self.now)
    }

    /// A foreign write of a Service, for the change that it waits with or for one that was seen now.
    fn foreign_write(&mut self, name: &str) -> bool {
        let seen = self.mode.waiting.get(&key(name)).map_or(self.now, |waiting| waiting.first);
        self.mode.foreign_write(&key(name), seen, self.now)
    }
}

#[test]
fn a_start_without_another_writer_acts_after_the_grace() {
    let mut scene = Scene::new();
    assert_eq!(scene.right("api"), SYNC, "nothing to write");
    assert_eq!([scene.wrong("web"), scene.wrong("db")], [after(5.0), after(5.0)]);
    scene.wait(4.5);
    assert_eq!(scene.wrong("web"), after(0.5));
    scene.wait(0.5);
    assert_eq!(scene.wrong("web"), ACT);
    assert_eq!(scene.mode.turn(), Turn::Acting);
    assert_eq!([scene.wrong("db"), scene.wrong("new")], [SYNC, SYNC], "at once from now on");
    assert!(scene.mode.waiting.is_empty());
}

#[test]
fn one_foreign_write_ends_the_turn() {
    let mut scene = Scene { mode: Mode { turn: Turn::Acting, ..Mode::default() }, ..Scene::new() };
    assert_eq!(scene.wrong("web"), SYNC);
    assert!(scene.foreign_write("web"), "begins to yield");
    assert!(!scene.foreign_write("web"), "yields already");
    assert_eq!((scene.wrong("db"), scene.mode.turn()), (after(5.0), Turn::Yielding));
}

#[test]
fn the_first_foreign_write_is_told_at_the_start_too() {
    let mut scene = Scene::new();
    assert!(scene.foreign_write("web") && !scene.foreign_write("db"));
}

/// Six hundred Services at a start, of which the other writer makes twenty a second.
#[test]
fn a_busy_writer_is_left_to_its_backlog() {
    let mut scene = Scene::new();
    let names: Vec<String> = (0..600).map(|number| format!("web-{number}")).collect();
    for name in &names {
        assert_eq!(scene.wrong(name), after(5.0));
    }
    for (written, name) in names.iter().enumerate() {
        scene.wait(0.05);
        // Each has two writes, and a look between them.
        scene.foreign_write(name);
        assert!(matches!(scene.wrong(name).decision, Decision::After(_)));
        scene.foreign_write(name);
        assert_eq!(scene.right(name), SKIP, "written");
        if let Some(last) = names.last().filter(|last| *last != name) {
            let decided = scene.wrong(last);
            assert!(matches!(decided.decision, Decision::After(_)), "{written}: {decided:?}");
        }
    }
    assert!(scene.mode.waiting.is_empty());
}

/// A start at which the queue is long: the looks take four seconds, in another order than the other writer's.
#[test]
fn the_time_of_a_look_is_not_that_of_the_change() {
    let mut scene = Scene::new();
    let start = scene.now;
    let wrong = |scene: &mut Scene, name| scene.mode.decide(&key(name), start, true, scene.now).decision;
    let written = |scene: &mut Scene, name| scene.mode.foreign_write(&key(name), start, scene.now);
    assert_eq!(wrong(&mut scene, "first"), Decision::After(GRACE));
    scene.wait(4.0);
    assert_eq!(wrong(&mut scene, "last"), Decision::After(GRACE));
    written(&mut scene, "last");
    written(&mut scene, "without a look");
    scene.wait(1.0);
    assert_eq!(wrong(&mut scene, "first"), Decision::After(seconds(4.0)), "its turn may still come");
}

#[test]
fn a_service_that_a_busy_writer_leaves_wrong_is_written_after_the_grace() {
    let mut scene = Scene::new();
    assert_eq!(scene.wrong("left"), after(5.0));
    for _ in 0..49 {
        scene.wait(0.1);
        assert_eq!(scene.wrong("web"), after(5.0));
        scene.foreign_write("web");
        assert_eq!(scene.right("web"), SKIP);
        assert!(matches!(scene.wrong("left").decision, Decision::After(_)));
    }
    scene.wait(0.1);
    assert_eq!((scene.wrong("left"), scene.mode.turn()), (SYNC, Turn::Yielding));
    scene.mode.synced(&key("left"), true);
    assert_eq!(scene.wrong("left"), after(5.0), "a new change");
}

#[test]
fn a_sync_that_fails_is_retried_by_the_queue() {
    let mut scene = Scene::new();
    scene.wrong("left");
    scene.wait(5.0);
    scene.foreign_write("web");
    for _ in 0..3 {
        assert_eq!(scene.wrong("left"), SYNC);
        scene.mode.synced(&key("left"), false);
    }
    scene.foreign_write("left");
    assert_eq!(scene.wrong("left"), after(5.0), "the other writer is at it");
}

#[test]
fn a_writer_that_stops_with_a_backlog_is_replaced_after_the_grace() {
    let mut scene = Scene::new();
    assert_eq!([scene.wrong("first"), scene.wrong("second")], [after(5.0), after(5.0)]);
    scene.wait(7.0);
    scene.foreign_write("first");
    assert_eq!(scene.wrong("second"), after(5.0), "it is busy");
    scene.wait(5.0);
    assert_eq!(scene.wrong("second"), ACT);
}

#[test]
fn a_change_is_not_charged_with_the_wait_of_an_earlier_one() {
    let mut scene = Scene::new();
    assert_eq!(scene.wrong("web"), after(5.0));
    scene.wait(1.0);
    scene.foreign_write("web");
    scene.wait(1.0);
    assert_eq!(scene.wrong("web"), after(4.0), "a second change, or the rest of the first");
    scene.foreign_write("web");
    assert_eq!(scene.right("web"), SKIP);
    scene.wait(100.0);
    assert_eq!(scene.wrong("web"), after(5.0));
}

/// Another client and we disagree about one Service for ever.
#[test]
fn no_service_waits_longer_than_a_minute() {
    let mut scene = Scene::new();
    for _ in 0..59 {
        assert!(matches!(scene.wrong("web").decision, Decision::After(_)));
        scene.wait(1.0);
        scene.foreign_write("web");
    }
    assert_eq!(scene.wrong("web"), after(1.0));
    scene.wait(1.0);
    assert_eq!((scene.wrong("web"), scene.mode.turn()), (SYNC, Turn::Yielding));
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Wait(u16),
    Wrong(u8),
    Right(u8),
    ForeignWrite(u8),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..3_000_u16).prop_map(Event::Wait),
        (0..4_u8).prop_map(Event::Wrong),
        (0..4_u8).prop_map(Event::Right),
        (0..4_u8).prop_map(Event::ForeignWrite),
    ]
}

proptest! {
    /// Asked again when it wants to be, a Service is synced within the limit, and never within the grace of a foreign write
    /// of its own while another client writes.
    #[test]
    fn waits_are_bounded(events in prop::collection::vec(event(), 1..200)) {
        let (mut scene, mut wrong_since) = (Scene::new(), HashMap::new());
        let mut written = HashMap::new();
        for event in events {
            match event {
                Event::Wait(milliseconds) => scene.now += Duration::from_millis(u64::from(milliseconds)),
                Event::ForeignWrite(name) => {
                    scene.foreign_write(&name.to_string());
                    written.insert(name, scene.now);
                }
                Event::Right(name) => {
                    let yields = scene.mode.turn() == Turn::Yielding;
                    prop_assert_eq!(scene.right(&name.to_string()), if yields { SKIP } else { SYNC });
                    wrong_since.remove(&name);
                }
                Event::Wrong(name) => {
                    let was = scene.mode.turn();
                    let since = *wrong_since.entry(name).or_insert(scene.now);
                    let (waited, decided) = (scene.now.duration_since(since), scene.wrong(&name.to_string()));
                    match decided.decision {
                        Decision::After(rest) => {
                            prop_assert!(was != Turn::Acting && !rest.is_zero() && rest <= GRACE);
                            prop_assert!(waited + rest <= LIMIT, "{waited:?} and {rest:?}");
                        }
                        Decision::Sync if was != Turn::Acting && waited < LIMIT => {
                            prop_assert!(waited >= GRACE, "{waited:?}");
                            let last = written.get(&name).map(|at| scene.now.duration_since(*at));
                            prop_assert!(last.is_none_or(|last| last >= GRACE), "{last:?}");
                        }
                        _ => {}
                    }
                    if decided.decision == Decision::Sync {
                        scene.mode.synced(&key(&name.to_string()), true);
                        wrong_since.remove(&name);
                    }
                }
            }
        }
    }
}
