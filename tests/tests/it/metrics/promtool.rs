//! Lint by Prometheus' own tool: `PROMTOOL`, which `hack/test` sets, or the one on `PATH`, if there is one.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// Ours also has it for mirroring, under the name that upstream has for Services.
const NAMED_AFTER_UPSTREAM: &str =
    "endpoint_slice_mirroring_controller_syncs counter metrics should have \"_total\" suffix";

/// Checks that Prometheus' own tool reads our metrics, and has no complaints that it does not have about upstream's.
pub(crate) fn check(upstream: &str, ours: &str) {
    let (Some(accepted), Some(found)) = (style(upstream), style(ours)) else {
        return;
    };
    let accepted: Vec<&str> = accepted.lines().chain([NAMED_AFTER_UPSTREAM]).collect();
    let more: Vec<&str> = found.lines().filter(|line| !accepted.contains(line)).collect();
    assert!(more.is_empty(), "promtool check metrics:\n{}", more.join("\n"));
}

/// Checks a file of rules (`check`), or runs the tests of one (`test`).
pub(crate) fn rules(command: &str, path: &str) {
    let Some(output) = run(&[command, "rules", path], "") else { return };
    let printed =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {command} rules: {}: {printed}", output.status);
}

/// The style complaints about metrics; none if the tool is not installed.
fn style(text: &str) -> Option<String> {
    let output = run(&["check", "metrics"], text)?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    // Code 3 is for style; any other means that the text is malformed.
    assert!(matches!(output.status.code(), Some(0 | 3)), "promtool: {}: {printed}", output.status);
    Some(printed)
}

/// Runs the tool; none if it is not installed.
fn run(args: &[&str], input: &str) -> Option<Output> {
    let named = std::env::var_os("PROMTOOL");
    let mut command = Command::new(named.as_deref().unwrap_or("promtool".as_ref()));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            // Not `eprintln!`, which is only shown if the test fails.
            let mut stderr = std::io::stderr();
            writeln!(stderr, "SKIPPED: `promtool {}`: promtool is not installed", args.join(" ")).unwrap();
            return None;
        }
        child => child.unwrap(),
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}
