//! Differences on a clock of the test.

use super::*;

const GRACE: Duration = Duration::from_secs(60);

fn key() -> ObjectKey {
    ObjectKey::new("shop", "web")
}

fn identity(kind: Kind, name: &str) -> Identity {
    Identity { kind, object: "EndpointSlice", name: name.into(), is_generated: false, number: 0 }
}

fn update(name: &str, paths: &[&str]) -> Found {
    let field = |path: &&str| Field { path: (*path).into(), before: Some("a".into()), after: None };
    Found { identity: identity(Kind::Update, name), fields: paths.iter().map(field).collect() }
}

fn delete(name: &str) -> Found {
    Found { identity: identity(Kind::Delete, name), fields: Vec::new() }
}

/// Comparisons of one key, at seconds from the start.
struct Run {
    differences: Differences,
    start: Instant,
    keeps_pods: bool,
}

impl Run {
    fn new() -> Self {
        Self { differences: Differences::new(GRACE), start: Instant::now(), keeps_pods: false }
    }

    fn at(&mut self, second: u64, found: Vec<Found>) -> Outcome {
        let now = self.start + Duration::from_secs(second);
        self.differences.compare(&key(), found, now, self.keeps_pods)
    }
}

fn paths(lasting: &Lasting) -> Vec<&str> {
    lasting.fields.iter().map(|field| &*field.path).collect()
}

fn seconds(durations: &[Duration]) -> Vec<u64> {
    durations.iter().map(Duration::as_secs).collect()
}

#[test]
fn a_difference_is_named_once_when_the_grace_ends_and_when_it_ends() {
    let mut run = Run::new();
    let outcome = run.at(0, vec![update("web-a", &["ready"])]);
    assert_eq!((outcome.lasting.len(), outcome.again), (0, Some(GRACE)));
    let outcome = run.at(50, vec![update("web-a", &["ready"])]);
    assert_eq!((outcome.lasting.len(), outcome.again), (0, Some(Duration::from_secs(10))));
    let outcome = run.at(60, vec![update("web-a", &["ready"])]);
    let [(named, true)] = &outcome.lasting[..] else { panic!("{outcome:?}") };
    assert_eq!((paths(named), named.since, outcome.again), (vec!["ready"], run.start, Some(GRACE)));
    let outcome = run.at(70, vec![update("web-a", &["ready"])]);
    assert!(outcome.lasting.is_empty() && outcome.ended.is_empty(), "{outcome:?}");
    let outcome = run.at(90, vec![]);
    assert_eq!((outcome.ended.len(), seconds(&outcome.took), outcome.again), (1, vec![90], None));
    assert_eq!(run.differences.listed[0].until, Some(run.start + Duration::from_secs(90)));
    let Totals { comparisons, differences, lasting, longest, lasting_while_kept: _ } = run.differences.totals;
    assert_eq!((comparisons, differences, lasting, longest.as_secs()), (5, 1, 1, 90));
}

#[test]
fn an_object_that_differs_in_another_field_each_time_does_not_last() {
    let mut run = Run::new();
    for second in 0..200 {
        let fields = [format!("endpoints[{second}]"), format!("endpoints[{}]", second + 1)];
        let outcome = run.at(second, vec![update("web-a", &[&fields[0], &fields[1]])]);
        assert!(outcome.lasting.is_empty(), "{outcome:?}");
    }
    assert!(run.differences.totals.longest < Duration::from_secs(4));
}

#[test]
fn a_field_that_stays_among_others_that_come_and_go_lasts() {
    let mut run = Run::new();
    for second in 0..60 {
        let other = format!("endpoints[{second}]");
        assert!(run.at(second, vec![update("web-a", &[&other, "ports"])]).lasting.is_empty());
    }
    let outcome = run.at(60, vec![update("web-a", &["endpoints[60]", "ports"])]);
    assert_eq!(paths(&outcome.lasting[0].0), ["ports"]);
    let outcome = run.at(61, vec![update("web-a", &["endpoints[60]"])]);
    assert_eq!(outcome.ended.len(), 1, "the rest is younger");
}

#[test]
fn objects_are_followed_one_by_one() {
    let mut run = Run::new();
    run.at(0, vec![delete("web-a")]);
    run.at(30, vec![delete("web-a"), delete("web-b")]);
    let outcome = run.at(60, vec![delete("web-b"), delete("web-a")]);
    assert_eq!(outcome.lasting.len(), 1);
    assert_eq!(&*outcome.lasting[0].0.identity.name, "web-a");
    assert_eq!(outcome.again, Some(Duration::from_secs(30)));
    let outcome = run.at(90, vec![delete("web-b")]);
    assert_eq!((outcome.lasting.len(), outcome.ended.len()), (1, 1));
}

#[test]
fn fields_beyond_the_limit_are_counted_and_followed_when_there_is_room() {
    let mut run = Run::new();
    let all: Vec<String> = (0..MAX_FIELDS + 5).map(|n| format!("endpoints[{n}]")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    run.at(0, vec![update("web-a", &all)]);
    let named = run.at(60, vec![update("web-a", &all)]).lasting.remove(0).0;
    assert_eq!((named.fields.len(), named.more), (MAX_FIELDS, 5));
    run.at(70, vec![update("web-a", &all[MAX_FIELDS..])]);
    let outcome = run.at(130, vec![update("web-a", &all[MAX_FIELDS..])]);
    assert_eq!((outcome.lasting[0].0.fields.len(), outcome.lasting[0].0.more), (5, 0));
}

#[test]
fn objects_beyond_the_limit_are_counted_until_there_is_room() {
    let mut run = Run::new();
    run.differences.max_objects = 3;
    let names = ["a", "b", "c", "d", "e"];
    let outcome = run.at(0, names.map(delete).to_vec());
    assert_eq!((run.differences.untracked(), run.differences.recent(), outcome.again), (2, 3, Some(GRACE)));
    run.at(60, names[2..].iter().map(|name| delete(name)).collect());
    assert_eq!((run.differences.untracked(), run.differences.totals.lasting), (0, 1));
    run.at(120, Vec::new());
    assert_eq!(
        (run.differences.open.len(), run.differences.untracked.len(), run.differences.followed),
        (0, 0, 0)
    );
}

#[test]
fn a_report_lists_so_many_lasting_differences_and_counts_all() {
    let mut run = Run::new();
    let all: Vec<Found> = (0..MAX_LISTED + 7).map(|n| delete(&format!("web-{n}"))).collect();
    run.at(0, all.clone());
    let outcome = run.at(60, all);
    assert_eq!(outcome.lasting.iter().filter(|(_, is_listed)| *is_listed).count(), MAX_LISTED);
    let outcome = run.at(61, Vec::new());
    assert_eq!(outcome.ended.len(), MAX_LISTED + 7);
    assert!(run.differences.listed.iter().all(|lasting| lasting.until.is_some()));
    assert_eq!(
        (run.differences.listed.len(), run.differences.totals.lasting),
        (MAX_LISTED, MAX_LISTED as u64 + 7)
    );
}

#[test]
fn a_difference_says_whether_pods_of_lost_nodes_were_kept_when_it_outlasted_the_grace() {
    let mut run = Run::new();
    let ready = "endpoints[10.1.0.1].conditions.ready";
    let all = || vec![update("web-a", &[ready]), delete("web-b"), update("web-c", &["metadata.labels.team"])];
    run.at(0, vec![update("web-0", &[ready])]);
    run.at(60, vec![update("web-0", &[ready])]);
    run.keeps_pods = true;
    run.at(70, all());
    run.at(130, all());
    let kept = run.differences.listed.iter().map(|lasting| (&*lasting.identity.name, lasting.keeps_pods));
    assert_eq!(
        kept.collect::<Vec<_>>(),
        [("web-0", false), ("web-a", true), ("web-b", false), ("web-c", false)]
    );
    assert_eq!(run.differences.totals.lasting_while_kept, 1);
}
