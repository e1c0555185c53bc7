//! What every plugin of kubectl has: selectors, watches, completion, suggestions, `help` and `version`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{PROGRAM, Running, program};
use crate::serve::Serving;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/samples");

/// A server in which `web` has its endpoints, and the flag that names it.
fn served() -> (Serving, String) {
    let serving = Serving::start(&["-f", SAMPLES]);
    let flag = serving.flag();
    assert_eq!(program(&["explain", "web", "--wait=3", &flag]).code, 0);
    (serving, flag)
}

#[test]
fn mistyped_words_are_followed_by_the_right_ones() {
    for (words, expected) in [
        (&["explian"][..], r#"unknown command "explian" for "kubectl endpoints"; did you mean explain?"#),
        (&["zzz"], r#"unknown command "zzz" for "kubectl endpoints""#),
        (&["shadow"], "shadow is a command of the program: run endpoint-controller-manager shadow"),
        (&[], "no command is given; see kubectl endpoints --help"),
        (&["--nonsense"], "unknown flag: --nonsense"),
        (&["explain", "--namspace=x"], "unknown flag: --namspace; did you mean --namespace?"),
    ] {
        let run = program(words);
        assert_eq!((run.code, run.stderr.as_str()), (1, format!("Error: {expected}\n").as_str()));
    }
}

#[test]
fn help_and_version_are_commands() {
    assert_eq!(program(&["version"]).stdout, program(&["--version"]).stdout);
    assert_eq!(program(&["help", "audit"]).stdout, program(&["audit", "--help"]).stdout);
    let help = program(&["version", "--help"]).stdout;
    assert!(help.contains("kubectl endpoints version") && !help.contains("Commands"), "{help}");
    let help = program(&["help"]).stdout;
    let place = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text} in {help}"));
    assert!(
        place("Commands (each") < place("--version") && place("--version") < place("Examples:"),
        "{help}"
    );
    for command in ["explain", "audit", "status", "simulate", "preflight", "handover", "rollback"] {
        let help = program(&["help", command]).stdout;
        assert!(help.contains("Examples:\n  kubectl endpoints"), "{help}");
        let longest = help.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(120), "{longest:?} in {help}");
    }
}

#[test]
fn the_flags_of_kubectl_select_and_shape() {
    let (serving, flag) = served();
    let with = |words: &[&str]| {
        let run = program(&[words, &[flag.as_str()]].concat());
        assert_eq!(run.stderr, "", "{words:?}: {run:?}");
        run
    };
    assert_eq!(program(&["explain", "archive", "--wait=2", &flag]).code, 0);
    let names = |words: &[&str]| with(&[&["explain", "-o", "name"], words].concat()).stdout;
    assert_eq!(names(&[]), "service/archive\nservice/database\nservice/dns\nservice/web\n");
    assert_eq!(names(&["-l", "app in (web, dns)"]), "service/dns\nservice/web\n");
    let rows = with(&["explain", "--no-headers", "-l", "app=web"]).stdout;
    assert_eq!(rows.split_whitespace().take(5).collect::<Vec<_>>(), ["default", "web", "3/3", "in", "sync"]);
    assert_eq!(rows.lines().count(), 1, "{rows}");

    let status: Value = serde_json::from_str(&with(&["status", "-o", "json"]).stdout).unwrap();
    assert_eq!((&status["summary"]["services"], &status["lease"]), (&4.into(), &Value::Null), "{status}");
    assert!(status["lastWrite"]["slice"].as_str().unwrap().starts_with("default/"), "{status}");
    assert!(with(&["status"]).stdout.contains("4 Services: 0 without traffic"));

    let complete = |line: &[&str]| with_kubeconfig(&serving.kubeconfig, &[&["__complete"], line].concat());
    assert_eq!(complete(&["explain", "w"]), "web\n:4\n");
    assert_eq!(complete(&["explain", "-n", "kube-s"]), "kube-system\n:4\n");
    assert_eq!(complete(&["explain", "--namespace=defa"]), "--namespace=default\n:4\n");
    assert!(complete(&["aud"]).starts_with("audit\tFind"));
    assert_eq!(complete(&["explain", "-f", ""]), ":0\n");
}

/// Completion has the kubeconfig of the environment.
fn with_kubeconfig(files: impl AsRef<OsStr>, words: &[&str]) -> String {
    let output = Command::new(PROGRAM).args(words).env("KUBECONFIG", files).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn contexts_are_those_that_the_command_would_find() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config");
    fs::write(&file, "contexts: [{name: dev, context: {cluster: c, user: u}}]").unwrap();
    let flag = format!("--kubeconfig={}", file.display());
    assert_eq!(program(&["__complete", "explain", &flag, "--context", ""]).stdout, "dev\n:4\n");
    let files = format!("/nonexistent:{}", file.display());
    assert_eq!(with_kubeconfig(files, &["__complete", "explain", "--context", ""]), "dev\n:4\n");
}

#[tokio::test]
async fn a_watch_shows_each_service_again_that_changes() {
    let (serving, flag) = served();
    let mut watch = Running::start(&["explain", "-l", "app=web", "-w", "--no-headers", &flag]);
    let mut lines = watch.lines();
    assert!(lines.next().unwrap().contains("3/3"));
    serving.delete("/api/v1/namespaces/default/pods/web-0").await;
    // It is terminating first, and then gone.
    assert!(lines.any(|line| line.contains("2/2")));
}

#[tokio::test]
async fn a_watch_of_names_outlives_one_of_them() {
    let (serving, flag) = served();
    let mut watch = Running::start(&["explain", "web", "dns", "-w", "-o", "name", &flag]);
    let (mut names, mut notes) = (watch.lines(), watch.notes());
    assert_eq!([names.next(), names.next()].map(Option::unwrap), ["service/web", "service/dns"]);
    serving.delete("/api/v1/namespaces/default/services/dns").await;
    assert_eq!(notes.next().unwrap(), "Service default/dns is deleted");
    serving.delete("/api/v1/namespaces/default/pods/web-0").await;
    assert_eq!(names.next().unwrap(), "service/web");
}

#[tokio::test]
async fn a_watch_ends_when_nobody_reads_it() {
    let (serving, flag) = served();
    let mut watch = Running::start(&["explain", "web", "-w", "-o", "name", &flag]);
    assert_eq!(watch.lines().next().unwrap(), "service/web");
    serving.delete("/api/v1/namespaces/default/pods/web-0").await;
    let begin = Instant::now();
    let mut status = None;
    while status.is_none() && begin.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        status = watch.0.try_wait().unwrap();
    }
    assert_eq!(status.and_then(|status| status.code()), Some(0));
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(PROGRAM).args(["explain", "-f", SAMPLES]).stdout(full).output().unwrap();
    let lines = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{lines}");
    assert!(lines.contains("Error: cannot write to stdout: "), "{lines}");
}
