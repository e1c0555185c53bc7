//! `__complete`: the words that may come next, in the form of cobra, which kubectl reads.
//!
//! For `kubectl endpoints explain <TAB>`, kubectl runs `kubectl_complete-endpoints explain ""`: a link of this name to the
//! program. It answers with a word a line, with a description after a tab, and `:4` at the end, or `:0` for names of files.
//! Requests to the cluster time out after two seconds. A failure yields no words, because a shell shows no errors.

mod question;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use cli_runtime::Program;
use cli_runtime::text::escape_controls;
use endpoint_diagnostics::snapshot::Kind;
use kube_api::user_contexts;
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::flags::Target;
use crate::frame;
use crate::live::{Resource, Selection, list};
use question::{Question, question};

/// The name by which kubectl runs the program for completion.
const PLUGIN: &str = "kubectl_complete-endpoints";
const WORD: &str = "__complete";
const LIMIT: Duration = Duration::from_secs(2);

/// The words to complete, if that is what the program is run for.
pub(crate) fn words(words: &[OsString]) -> Option<&[OsString]> {
    let (program, rest) = words.split_first()?;
    if Path::new(program).file_name().is_some_and(|name| name == PLUGIN) {
        return Some(rest);
    }
    let (first, rest) = rest.split_first()?;
    (first == WORD).then_some(rest)
}

/// Prints the words that the last one, which may be empty, may become.
pub(crate) fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (open, before) =
        words.split_last().map_or(("", [].as_slice()), |(open, before)| (open.as_str(), before));
    let asked = question(program, before, open);
    let directive = if asked == Question::Files { 0 } else { 4 };
    // The part of `--namespace=sh` that stays.
    let kept = open.split_once('=').filter(|_| open.starts_with('-')).map_or("", |(flag, _)| flag);
    let mut text = String::new();
    for candidate in answers(asked) {
        let candidate = if kept.is_empty() { candidate } else { format!("{kept}={candidate}") };
        if candidate.starts_with(open) {
            text.push_str(&candidate);
            text.push('\n');
        }
    }
    print(&format!("{text}:{directive}\n"));
    ExitCode::SUCCESS
}

/// Tabs separate words from descriptions.
#[expect(clippy::disallowed_methods, reason = "after the escaping, which keeps tabs")]
fn print(text: &str) {
    // A reader that has gone away is not a failure.
    let _ = std::io::stdout().write_all(escape_controls(text, &['\n', '\t']).as_bytes());
}

fn answers(asked: Question) -> Vec<String> {
    match asked {
        Question::Words(words) => words,
        Question::Files => vec![],
        Question::Contexts(kubeconfig) => user_contexts(kubeconfig.as_deref()),
        Question::Names(kind, target) => {
            let Ok(runtime) = frame::runtime(1) else { return vec![] };
            let names = runtime.block_on(async { timeout(LIMIT, names(kind, &target)).await.ok().flatten() });
            runtime.shutdown_background();
            names.unwrap_or_default()
        }
    }
}

/// The names of a kind in the namespace of the target.
async fn names(kind: Kind, target: &Target) -> Option<Vec<String>> {
    let cluster = Cluster::of(target, WORD).await.ok()?;
    let resource = Resource { kind, namespace: cluster.namespace.clone() };
    let found = list(&cluster.client, &resource, &Selection::All).await.ok()?;
    Some(found.objects.iter().map(|object| object.key().1.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Option<Vec<String>> {
        let all: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        words(&all).map(|words| words.iter().map(|word| word.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn kubectl_and_a_word_ask_for_completion() {
        assert_eq!(asked("/bin/kubectl_complete-endpoints explain w").unwrap(), ["explain", "w"]);
        assert_eq!(asked("kubectl-endpoints __complete aud").unwrap(), ["aud"]);
        assert_eq!(asked("kubectl-endpoints audit"), None);
        assert_eq!(asked("kubectl-endpoints"), None);
    }
}
