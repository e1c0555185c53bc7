//! Commands, most of them at the root of the repository, and its files.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An error in the words of a command's user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{command}: {reason}")]
    Command { command: String, reason: String },
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("{0}")]
    Other(String),
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

fn command(words: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = here(words, variables);
    command.current_dir(root());
    command
}

/// A command in the caller's directory.
fn here(words: &[&str], variables: &[(&str, &str)]) -> Command {
    let (program, arguments) = words.split_first().unwrap_or((&"", &[]));
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().copied());
    command
}

fn failed(words: &[&str], reason: &dyn std::fmt::Display) -> Error {
    Error::Command { command: words.join(" "), reason: reason.to_string() }
}

/// Runs a command whose output is shown.
///
/// # Errors
/// If it can't be started, or doesn't end with 0.
pub(crate) fn run(words: &[&str], variables: &[(&str, &str)]) -> Result<(), Error> {
    eprintln!("xtask: {}", words.join(" "));
    let status = command(words, variables).status().map_err(|error| failed(words, &error))?;
    if status.success() { Ok(()) } else { Err(failed(words, &status)) }
}

/// Becomes a command, so that signals and the exit code are its own. Returns only if it can't be started.
pub(crate) fn exec(words: &[&str], variables: &[(&str, &str)]) -> Error {
    eprintln!("xtask: {}", words.join(" "));
    failed(words, &command(words, variables).exec())
}

/// The same in the caller's directory, from which paths among the `words` are named.
pub(crate) fn exec_here(words: &[&str], variables: &[(&str, &str)]) -> Error {
    eprintln!("xtask: {}", words.join(" "));
    failed(words, &here(words, variables).exec())
}

/// Runs a command, and returns what it prints.
///
/// # Errors
/// If it can't be started, or doesn't end with 0.
pub(crate) fn output(words: &[&str]) -> Result<String, Error> {
    let output = command(words, &[]).output().map_err(|error| failed(words, &error))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        // Go prints some errors as a field of its result.
        let printed = [output.stderr, output.stdout].concat();
        Err(failed(words, &String::from_utf8_lossy(&printed).trim()))
    }
}

/// Runs `git grep`, and returns what it finds, which may be nothing.
///
/// # Errors
/// If it can't be started, or fails.
pub(crate) fn grep(arguments: &[&str]) -> Result<String, Error> {
    let words = [&["git", "grep", "-I"], arguments].concat();
    let output = command(&words, &[]).output().map_err(|error| failed(&words, &error))?;
    match output.status.code() {
        // 1 says that there is no match.
        Some(0 | 1) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => Err(failed(&words, &String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Runs a command whose messages are shown, and returns the path that it prints.
///
/// # Errors
/// If it can't be started, or doesn't end with 0.
pub(crate) fn path(words: &[&str]) -> Result<String, Error> {
    eprintln!("xtask: {}", words.join(" "));
    let output =
        command(words, &[]).stderr(Stdio::inherit()).output().map_err(|error| failed(words, &error))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if output.status.success() { Ok(printed.trim().to_owned()) } else { Err(failed(words, &output.status)) }
}

/// The directory into which cargo builds, as the environment and its configuration set it.
///
/// # Errors
/// If cargo fails.
pub(crate) fn target_directory() -> Result<String, Error> {
    let printed = output(&["cargo", "metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: serde_json::Value =
        serde_json::from_str(&printed).map_err(|error| Error::Other(format!("cargo metadata: {error}")))?;
    let directory = metadata.get("target_directory").and_then(serde_json::Value::as_str);
    directory.map(str::to_owned).ok_or_else(|| Error::Other("cargo metadata: no target_directory".to_owned()))
}

/// The text of a file, named from the root.
///
/// # Errors
/// If it can't be read.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String, Error> {
    let path = root().join(path);
    fs::read_to_string(&path).map_err(|error| Error::File { path, error })
}

/// Changes the text of a file, named from the root. A file that doesn't change is not written.
///
/// # Errors
/// If it can't be read or written.
pub(crate) fn change(path: impl AsRef<Path>, change: impl FnOnce(&str) -> String) -> Result<(), Error> {
    let path = root().join(path);
    let text = read(&path)?;
    let changed = change(&text);
    if changed == text {
        return Ok(());
    }
    fs::write(&path, changed).map_err(|error| Error::File { path, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_program_runs_in_the_callers_directory_and_cargo_at_the_root() {
        let directory = |mut command: Command| {
            let printed = command.output().unwrap().stdout;
            PathBuf::from(String::from_utf8(printed).unwrap().trim_end())
        };
        let caller = std::env::current_dir().unwrap();
        assert_eq!(directory(here(&["pwd", "-P"], &[])), caller);
        let at_root = directory(command(&["pwd", "-P"], &[]));
        assert_eq!(at_root, root().canonicalize().unwrap());
        assert_ne!(at_root, caller, "cargo runs tests in the directory of their crate");
    }
}
