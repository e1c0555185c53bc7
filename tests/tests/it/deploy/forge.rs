//! The workflows of the forge: code of others runs without the release key and without a permission to write, and
//! dependabot knows each lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::requests::manifest;

use super::manifests::folder;

/// Commands that install or build what others have written, besides those of hack/lib/common. Our scripts are read for them, too.
const FOREIGN: [&str; 10] =
    [".ci/run", "apt-get", "cargo", "curl", "docker", "go", "npm", "pip", "pipx", "rustup"];
/// The actions that a job with the key or a permission to write may use.
const ACTIONS: [&str; 3] = ["actions/checkout", "actions/download-artifact", "actions/upload-artifact"];
/// The jobs before anything is signed or published.
const BEFORE: [&str; 3] = ["ci", "build", "compare"];

fn root() -> PathBuf {
    folder().parent().unwrap().to_owned()
}

fn workflow(name: &str) -> Value {
    manifest(&root().join(".github/workflows").join(name)).remove(0)
}

/// The values of a field in all steps.
fn steps<'a>(job: &'a Value, field: &'a str) -> impl Iterator<Item = &'a str> {
    job["steps"].as_array().into_iter().flatten().filter_map(move |step| step[field].as_str())
}

fn words(script: &str) -> impl Iterator<Item = &str> {
    let lines = script.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(|line| line.split(|char: char| char.is_whitespace() || "\"'`$(){};|&<>".contains(char)))
}

/// True for what installs or builds others' code: a command, or one of hack/lib/common's functions that see to a tool.
fn is_foreign(word: &str) -> bool {
    FOREIGN.contains(&word) || word.starts_with("need_")
}

/// A file of the repository; empty if there is none.
fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// The foreign words of a script of ours, and of those that it names.
fn foreign_in(script: &str, read: fn(&str) -> String, seen: &mut BTreeSet<String>) -> BTreeSet<String> {
    // Those of hack/lib/common are definitions.
    let is_read = |word: &str| Path::new(word).starts_with("hack") && word != "hack/lib/common";
    if !is_read(script) || !seen.insert(script.to_owned()) {
        return BTreeSet::new();
    }
    let inside = read(script);
    let own = words(&inside).filter(|word| is_foreign(word)).map(str::to_owned);
    let called: Vec<BTreeSet<String>> = words(&inside).map(|word| foreign_in(word, read, seen)).collect();
    own.chain(called.into_iter().flatten()).collect()
}

/// What a job runs of others' code: commands, actions, other workflows.
fn foreign(job: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    found.extend(job["uses"].as_str().map(str::to_owned));
    for action in steps(job, "uses").map(|action| action.split('@').next().unwrap()) {
        if !ACTIONS.contains(&action) {
            found.insert(action.to_owned());
        }
    }
    for word in steps(job, "run").flat_map(words) {
        if is_foreign(word) {
            found.insert(word.to_owned());
        }
        found.extend(
            foreign_in(word, read, &mut BTreeSet::new()).iter().map(|inner| format!("{word}: {inner}")),
        );
    }
    found
}

fn has_secret(job: &Value) -> bool {
    job.to_string().contains("secrets")
}

/// A job without permissions of its own has those of the workflow, or the default of the repository.
fn may_write(job: &Value) -> bool {
    let permissions = job["permissions"].as_object();
    permissions.is_none_or(|permissions| permissions.values().any(|value| value != "read"))
}

/// The jobs that a job waits for, and those that they wait for.
fn needs(jobs: &BTreeMap<String, Value>, name: &str) -> BTreeSet<String> {
    let direct: Vec<&str> = match &jobs[name]["needs"] {
        Value::String(one) => vec![one],
        several => several.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    direct.iter().flat_map(|name| needs(jobs, name)).chain(direct.iter().map(ToString::to_string)).collect()
}

/// What is wrong with a workflow that releases.
fn problems(workflow: &Value) -> Vec<String> {
    let jobs: BTreeMap<String, Value> = serde_json::from_value(workflow["jobs"].clone()).unwrap();
    let names = |test: fn(&Value) -> bool| -> Vec<&String> {
        jobs.iter().filter(|(_, job)| test(job)).map(|(name, _)| name).collect()
    };
    let (signers, writers) = (names(has_secret), names(may_write));
    let mut problems = Vec::new();
    if signers.len() != 1 || signers.iter().any(|name| jobs[*name]["environment"] != "release") {
        problems.push(format!("not one job of the environment `release` has the key: {signers:?}"));
    }
    for name in signers.iter().filter(|name| writers.contains(name)) {
        problems.push(format!("{name} has the key and a permission to write"));
    }
    for name in names(|job| has_secret(job) || may_write(job)) {
        let (before, runs) = (needs(&jobs, name), foreign(&jobs[name]));
        if !runs.is_empty() {
            problems.push(format!("{name} has the key or a permission to write, and runs {runs:?}"));
        }
        if let Some(missing) = BEFORE.iter().find(|job| !before.contains(**job)) {
            problems.push(format!("{name} does not wait for {missing}"));
        }
        if writers.contains(&name) && !signers.iter().any(|signer| before.contains(*signer)) {
            problems.push(format!("{name} does not wait for the signature"));
        }
    }
    problems
}

#[test]
fn a_release_is_built_without_the_key_and_signed_without_a_build() {
    let workflow = workflow("release.yaml");
    assert_eq!(problems(&workflow), [""; 0]);
    for job in ["ci", "build"] {
        assert!(!foreign(&workflow["jobs"][job]).is_empty(), "{job} builds nothing");
    }
}

/// Guards against a test that finds nothing.
#[test]
fn each_way_to_mix_a_build_with_the_key_is_found() {
    let step = |job: &'static str, step: Value| {
        move |workflow: &mut Value| workflow["jobs"][job]["steps"].as_array_mut().unwrap().push(step)
    };
    let set = |job: &'static str, field: &'static str, value: Value| {
        move |workflow: &mut Value| workflow["jobs"][job][field] = value
    };
    let changes: Vec<(Box<dyn FnOnce(&mut Value)>, &str)> = vec![
        (Box::new(step("sign", json!({"run": "cargo build --release"}))), "sign has the key"),
        (Box::new(step("sign", json!({"run": "x=$(hack/lib/tool crane)"}))), "sign has the key"),
        (Box::new(step("sign", json!({"run": "hack/releasing/package"}))), "sign has the key"),
        (Box::new(step("sign", json!({"run": "need_zig"}))), "sign has the key"),
        (Box::new(step("publish", json!({"run": "python3 -m pip install x"}))), "publish has the key"),
        (Box::new(step("publish", json!({"uses": "actions/setup-go@v6"}))), "publish has the key"),
        (Box::new(step("build", json!({"env": {"KEY": "${{ secrets.RELEASE_KEY }}"}}))), "not one job"),
        (Box::new(set("sign", "environment", Value::Null)), "not one job"),
        (
            Box::new(set("sign", "permissions", json!({"contents": "write"}))),
            "sign has the key and a permission",
        ),
        (Box::new(set("build", "permissions", json!({"packages": "write"}))), "build has the key"),
        (Box::new(set("build", "permissions", Value::Null)), "build has the key"),
        (Box::new(set("ci", "permissions", json!("write-all"))), "ci has the key"),
        (Box::new(set("ci", "secrets", json!("inherit"))), "not one job"),
        (Box::new(set("sign", "needs", json!(["compare"]))), "sign does not wait for ci"),
        (Box::new(set("sign", "needs", json!(["ci", "build"]))), "sign does not wait for compare"),
        (
            Box::new(set("publish", "needs", json!(["ci", "compare"]))),
            "publish does not wait for the signature",
        ),
    ];
    for (change, expected) in changes {
        let mut workflow = workflow("release.yaml");
        change(&mut workflow);
        let found = problems(&workflow);
        assert!(found.iter().any(|problem| problem.contains(expected)), "{expected}: {found:?}");
    }
}

#[test]
fn what_a_script_calls_counts() {
    let scripts = |path: &str| {
        let text = match path {
            "hack/a" => "source hack/lib/common\nhack/b --all\n# cargo",
            "hack/b" => "hack/a; (cd x && need_zig)",
            "hack/lib/common" => "curl x",
            _ => "",
        };
        text.to_owned()
    };
    let found = foreign_in("hack/a", scripts, &mut BTreeSet::new());
    assert_eq!(found, ["need_zig".to_owned()].into());
}

#[test]
fn other_workflows_have_no_secret_and_write_nothing() {
    for entry in std::fs::read_dir(root().join(".github/workflows")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "release.yaml" {
            let workflow = workflow(&name);
            assert_eq!(workflow["permissions"], json!({"contents": "read"}), "{name}");
            let text = workflow["jobs"].to_string();
            assert!(!text.contains("secrets") && !text.contains("permissions"), "{name}");
        }
    }
}

#[test]
fn dependabot_knows_each_lock_file() {
    let updates = manifest(&root().join(".github/dependabot.yml")).remove(0)["updates"].take();
    for (file, ecosystem) in [("Cargo.lock", "cargo"), ("go.mod", "gomod"), ("requirements.txt", "pip")] {
        let update =
            updates.as_array().unwrap().iter().find(|update| update["package-ecosystem"] == ecosystem);
        let update = update.unwrap_or_else(|| panic!("dependabot does not know {ecosystem}"));
        let known: BTreeSet<String> = serde_json::from_value(update["directories"].clone()).unwrap();
        let mut found = BTreeSet::new();
        with_file(&root(), file, &mut found);
        let found = found.iter().map(|path| format!("/{}", path.strip_prefix(root()).unwrap().display()));
        assert_eq!(known, found.collect(), "{ecosystem}");
    }
}

/// True for directories of build output, which git ignores. Servers that are built there have lock files of their own.
fn is_ignored(directory: &str) -> bool {
    ["target", ".git"].contains(&directory) || directory.starts_with("bin-")
}

/// The directories that have a file of this name, without what git ignores.
fn with_file(directory: &Path, name: &str, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let own = entry.file_name();
        if own == *name {
            found.insert(directory.to_owned());
        } else if entry.file_type().unwrap().is_dir() && !is_ignored(&own.to_string_lossy()) {
            with_file(&entry.path(), name, found);
        }
    }
}
