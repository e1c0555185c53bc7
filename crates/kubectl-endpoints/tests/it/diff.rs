//! `--diff` on a dump of a settled cluster, and on the same with differences.

use serde_json::{Value, json};

use crate::program::{Run, of_manifest};

fn settled() -> Value {
    serde_yaml::from_str(include_str!("settled.yaml")).unwrap()
}

/// The object of a kind and a name.
fn object<'a>(dump: &'a mut Value, kind: &str, name: &str) -> &'a mut Value {
    let items = dump["items"].as_array_mut().unwrap();
    items.iter_mut().find(|item| item["kind"] == kind && item["metadata"]["name"] == name).unwrap()
}

fn diff(dump: &Value, words: &[&str]) -> Run {
    of_manifest(&dump.to_string(), &[&["--diff"], words].concat())
}

/// The lines of the output, without the times of changes.
fn lines(run: &Run) -> Vec<&str> {
    run.stdout.lines().filter(|line| !line.contains("last-change-trigger-time")).collect()
}

#[test]
fn a_settled_cluster_has_none() {
    let run = of_manifest(include_str!("settled.yaml"), &["--diff"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    assert_eq!(run.stderr, "The controllers would change nothing\n");
    let run = diff(&settled(), &["-o", "json"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "[]\n"));
}

#[test]
fn fields_are_listed_by_object() {
    let mut dump = settled();
    let slice = object(&mut dump, "EndpointSlice", "web-24sxz");
    slice["endpoints"][1]["conditions"]["ready"] = false.into();
    object(&mut dump, "Endpoints", "web")["subsets"][0]["addresses"].as_array_mut().unwrap().pop();
    let run = diff(&dump, &[]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(
        lines(&run),
        [
            "update EndpointSlice default/web-24sxz",
            "  - endpoints[10.244.0.6].conditions.ready: false",
            "  + endpoints[10.244.0.6].conditions.ready: true",
            "update Endpoints default/web",
            "  + subsets[http/8080/TCP].addresses[10.244.0.7]: {\"ip\":\"10.244.0.7\",\"nodeName\":\"ash\",\"targetRef\":\
             {\"kind\":\"Pod\",\"name\":\"web-2\",\"namespace\":\"default\",\
             \"uid\":\"df1c6f39-a625-46dd-b0e3-a2e0b09109cc\"}}",
        ]
    );
    assert_eq!(run.stderr, "The controllers would create 0, update 2 and delete 0 objects\n");
}

#[test]
fn paths_of_a_dump_are_no_commands_to_the_terminal() {
    let mut dump = settled();
    let slice = object(&mut dump, "EndpointSlice", "web-24sxz");
    slice["endpoints"][1]["addresses"][0] = "10.244.0.6\u{1b}[2J\u{202e}".into();
    let run = diff(&dump, &[]);
    assert!(run.stdout.contains("endpoints[10.244.0.6\\u{1b}[2J\\u{202e}]"), "{}", run.stdout);
    assert!(!run.stdout.contains(['\u{1b}', '\u{202e}']), "{}", run.stdout);
    let run = diff(&dump, &["-o", "json"]);
    assert!(!run.stdout.contains(['\u{1b}', '\u{202e}']), "{}", run.stdout);
    let changes: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(changes.to_string().contains('\u{202e}'), "the content is the same");
}

#[test]
fn new_and_deleted_objects() {
    let mut dump = settled();
    let left_over = json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": {"name": "gone", "namespace": "default", "uid": "1", "creationTimestamp": "2026-11-22T11:20:24Z",
            "labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}},
    });
    let items = dump["items"].as_array_mut().unwrap();
    items.retain(|item| item["metadata"]["name"] != "web-24sxz");
    items.push(left_over);
    let run = diff(&dump, &["-o", "json"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let changes: Value = serde_json::from_str(&run.stdout).unwrap();
    let summary = |change: &Value| {
        let text = |key: &str| change[key].as_str().unwrap_or_default().to_owned();
        [text("action"), text("kind"), text("namespace"), text("name") + &text("generateName")].join(" ")
    };
    let summaries: Vec<String> = changes.as_array().unwrap().iter().map(summary).collect();
    assert_eq!(summaries, ["create EndpointSlice default web-", "delete Endpoints default gone"]);
    let run = diff(&dump, &["--controllers=endpointslice-controller"]);
    assert!(
        run.stdout.starts_with("create EndpointSlice default/web-<generated>\n  + addressType: IPv4\n"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("delete"), "{}", run.stdout);
}

#[test]
fn a_namespace_limits_the_differences() {
    let mut dump = settled();
    object(&mut dump, "Endpoints", "web")["subsets"] = json!([]);
    let run = diff(&dump, &["-n", "other"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
}

#[test]
fn a_service_of_another_namespace_may_keep_failing() {
    let mut dump = settled();
    object(&mut dump, "Pod", "web-0")["spec"]["nodeName"] = "gone".into();
    let run = diff(&dump, &[]);
    assert!(run.code == 1 && run.stderr.contains("keeps failing"), "{run:?}");
    let run = diff(&dump, &["-n", "other"]);
    assert!(run.code == 0 && !run.stderr.contains("keeps failing"), "{run:?}");
}

#[test]
fn without_endpoints_all_are_new() {
    let mut dump = settled();
    let kept = |item: &Value| !["Endpoints", "EndpointSlice"].contains(&item["kind"].as_str().unwrap());
    dump["items"].as_array_mut().unwrap().retain(kept);
    let run = diff(&dump, &[]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.starts_with("The input holds no EndpointSlices and no Endpoints: all of them are new\n")
    );
    assert_eq!(run.stdout.lines().filter(|line| line.starts_with("create ")).count(), 2);
}
