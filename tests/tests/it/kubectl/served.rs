//! kubectl against `simulate --serve`, with the slices that the controllers in that process write.

use std::path::Path;

use super::side::Side;
use super::{canonical, kubectls, script};

/// Commands after `$`, each with what it prints in canonical form.
const TRANSCRIPT: &str = include_str!("served.txt");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_works_on_a_served_simulation() {
    let kubectls = kubectls();
    assert!(!kubectls.is_empty(), "no kubectl: hack/testenv/build builds one if there is Go");
    let commands: Vec<&str> = TRANSCRIPT.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let commands = commands.join("\n");
    for (version, kubectl) in kubectls {
        let side = Side::simulation().await;
        let outcomes = tokio::task::block_in_place(|| script::run(&commands, &side, &kubectl));
        let printed: Vec<String> = outcomes.iter().map(|outcome| comparable(&outcome.text)).collect();
        let transcript = transcript(&printed);
        if std::env::var_os("RECORD").is_some() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/kubectl/served.txt");
            std::fs::write(path, transcript).unwrap();
            return;
        }
        let difference = canonical::difference(TRANSCRIPT, &transcript);
        assert!(transcript == TRANSCRIPT, "kubectl {version} (- expected, + printed):\n{difference}");
    }
}

/// The commands and remarks of the transcript with this output. A watch prints when it is `watched`.
fn transcript(printed: &[String]) -> String {
    let mut text = String::new();
    let mut printed = printed.iter();
    for line in TRANSCRIPT.lines().filter(|line| line.starts_with("$ ") || line.starts_with('#')) {
        text.extend([line, "\n"]);
        if line.starts_with("$ ") && !line.starts_with("$ watch ") {
            text.extend([printed.next().map_or("", String::as_str), "\n"]);
        }
    }
    text
}

/// Without the random ends of the names of slices.
fn comparable(text: &str) -> String {
    let word = |word: &str| match word.rsplit_once('-') {
        Some((name, end)) if name.ends_with("web") && end.len() == 5 => format!("{name}-<any>"),
        _ => word.to_owned(),
    };
    let line =
        |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ").trim_end().to_owned() + "\n";
    canonical::text(text).lines().map(line).collect()
}
