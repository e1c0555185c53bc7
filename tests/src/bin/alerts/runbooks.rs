//! The commands of runbooks: their blocks of `sh`.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::rules::repository;
use crate::stage::Stage;

/// For one block.
const LIMIT: Duration = Duration::from_secs(60);

/// The blocks of `sh` in a page.
pub(crate) fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, "```sh") => block = Some(String::new()),
            (Some(_), "```") => blocks.extend(block.take()),
            (Some(block), line) => block.extend([line, "\n"]),
            (None, _) => {}
        }
    }
    assert!(block.is_none(), "a block without an end");
    blocks
}

/// Runs the commands of a page. Returns their number of blocks.
///
/// # Panics
/// If a command fails, or if the page has none.
pub(crate) async fn run(stage: &Stage, page: &str) -> usize {
    let path = repository("docs/runbooks").join(format!("{page}.md"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let blocks = blocks(&text);
    assert!(!blocks.is_empty(), "{page} has no commands");
    for block in &blocks {
        run_block(stage, &path, block).await;
    }
    blocks.len()
}

async fn run_block(stage: &Stage, page: &Path, block: &str) {
    let (tools, kubeconfig) = stage.tools();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", block])
        .current_dir(repository(""))
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("KUBECONFIG", kubeconfig)
        .env("PROMETHEUS", stage.prometheus.url())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(LIMIT, output).await.expect("a block ends").expect("starting bash");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {}\n{block}\n{text}", page.display(), output.status);
}
