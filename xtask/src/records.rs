//! Files that are recorded from upstream or generated from our own program.

use crate::repository::{Outcome, Repository};

/// The commands in order, each with its folder and its variables. Three files of embedded-apiserver have no recorder:
/// `src/kinds/tests/facts.jsonl`, `tests/it/requests.rs` and `tests/it/scale.rs`.
const COMMANDS: &[(&str, &[&str], &str, &str)] = &[
    ("hack/testenv/build", &[], ".", ""),
    ("hack/schema", &[], ".", ""),
    ("go", &["run", ".", "../../crates/kube-protobuf/testdata"], "hack/fixtures", ""),
    ("go", &["run", ".", "-of", "slices"], "hack/golden", ""),
    ("go", &["run", ".", "-of", "endpoints"], "hack/golden", ""),
    ("go", &["run", ".", "-of", "mirroring"], "hack/golden", ""),
    ("go", &["run", ".", "-of", "addresses"], "hack/golden", ""),
    ("go", &["run", "./patches"], "hack/testenv", ""),
    ("cargo", &["test", "--locked", "-p", "tests", "--test", "it", "kubectl::"], ".", "RECORD=1"),
    (
        "cargo",
        &[
            "test",
            "--locked",
            "-p",
            "endpoint-controller-manager",
            "-p",
            "endpoint-diagnostics",
            "generated_docs",
        ],
        ".",
        "UPDATE_DOCS=1",
    ),
];

/// Runs all of them, also after one that failed.
///
/// # Errors
/// One failed.
pub(crate) fn update(repository: &Repository) -> Outcome {
    let mut failed = Vec::new();
    for (program, arguments, folder, variable) in COMMANDS {
        let mut words = vec![*variable, *program];
        words.extend(*arguments);
        words.retain(|word| !word.is_empty());
        if let Err(error) = repository.run("env", &words, folder) {
            failed.push(error);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n       ")) }
}
