//! kubectl against the real API server and the embedded one, where the same commands print the same, and against
//! `simulate --serve`.
//!
//! `steps.txt` in the folder of this module is the script for the first, `served.txt` the one for the second, with its
//! output.
//! kubectl is the one of `hack/testenv`, in the server's version, and the one on `PATH`, if it has version 1.32 or newer.
//!
//! | Variable | Meaning |
//! |---|---|
//! | `RECORD=1` | writes the embedded server's columns of tables and schemas, and `served.txt`, again instead of comparing them |
//! | `KUBECTL_KEEP=1` | keeps what kubectl printed, in files whose folder is printed |

mod canonical;
mod documents;
mod script;
mod served;
mod side;
mod tables;

use std::path::PathBuf;
use std::process::Command;

use tests::binaries;

use self::script::Outcome;
use self::side::Side;

const STEPS: &str = include_str!("steps.txt");

/// All of kubectl that this machine has: name and path.
fn kubectls() -> Vec<(String, PathBuf)> {
    let built = binaries::servers().kubectl();
    let given = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let given = given.map(|folder| folder.join("kubectl")).find(|path| path.is_file());
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for path in built.into_iter().chain(given) {
        if let Some(version) = version_of(&path)
            && !found.iter().any(|(known, _)| *known == version)
        {
            found.push((version, path));
        }
    }
    found
}

/// The version of kubectl, if it is 1.32 or newer.
fn version_of(kubectl: &PathBuf) -> Option<String> {
    let output = Command::new(kubectl).args(["version", "--client", "-o", "json"]).output().ok()?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let version = &answer["clientVersion"];
    let minor: u32 = version["minor"].as_str()?.trim_end_matches('+').parse().ok()?;
    (minor >= 32).then(|| version["gitVersion"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_prints_the_same_as_with_the_real_server() {
    let kubectls = kubectls();
    assert!(!kubectls.is_empty(), "no kubectl: hack/testenv/build builds one if there is Go");
    for (version, kubectl) in kubectls {
        let (real, embedded) = tokio::join!(Box::pin(Side::real()), Side::embedded());
        let outcomes = std::thread::scope(|scope| {
            let kubectl = &kubectl;
            let run = |side| scope.spawn(move || script::run(STEPS, side, kubectl));
            let [real, embedded] = [&real, &embedded].map(run);
            [real, embedded].map(|side| side.join().expect("a run"))
        });
        compare(&version, &outcomes);
    }
}

/// Fails with all steps that printed different things.
fn compare(version: &str, [real, embedded]: &[Vec<Outcome<'_>>; 2]) {
    assert_eq!(real.len(), embedded.len());
    let mut report = String::new();
    let mut different = 0;
    for (real, embedded) in real.iter().zip(embedded) {
        if canonical::text(&real.text) != canonical::text(&embedded.text) {
            different += 1;
            report.extend(["$ ", real.step, "\n"]);
            report += &canonical::difference(&real.text, &embedded.text);
        }
    }
    let steps = real.len();
    println!("kubectl {version}: {} of {steps} steps print the same", steps - different);
    assert!(different == 0, "kubectl {version} prints other things (- real, + embedded):\n{report}");
}
