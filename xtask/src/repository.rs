//! The files of this repository, and the commands that are run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The outcome of a task; the error is a line for the user.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// This repository.
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: crate_folder.parent().unwrap_or(crate_folder).to_owned() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Outcome<String> {
        fs::read_to_string(self.path(name)).map_err(|error| format!("{name}: {error}"))
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Outcome {
        let path = self.path(name);
        if fs::read_to_string(&path).is_ok_and(|present| present == text) {
            return Ok(());
        }
        println!("writes {name}");
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{name}: {error}"))?;
        }
        fs::write(path, text).map_err(|error| format!("{name}: {error}"))
    }

    /// Changes a file; fails if that changes nothing, because the place that was looked for is gone.
    pub(crate) fn edit(&self, name: &str, edit: impl FnOnce(&str) -> String) -> Outcome {
        let before = self.read(name)?;
        let after = edit(&before);
        if before == after {
            return Err(format!("{name}: found nothing to change"));
        }
        self.write(name, &after)
    }

    /// The names of tracked files with this ending, without those of recorded data.
    pub(crate) fn tracked(&self, ending: &str) -> Outcome<Vec<String>> {
        let names = self.output("git", &["ls-files"], ".")?;
        Ok(names.lines().filter(|name| name.ends_with(ending)).map(ToOwned::to_owned).collect())
    }

    fn command(&self, program: &str, arguments: &[&str], folder: &str) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path(folder)).env("GOWORK", "off");
        command
    }

    /// Runs a command whose output is the user's.
    pub(crate) fn run(&self, program: &str, arguments: &[&str], folder: &str) -> Outcome {
        println!("runs {program} {}", arguments.join(" "));
        let status = self.command(program, arguments, folder).status();
        let status = status.map_err(|error| format!("{program}: {error}"))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("{program} {} failed: {status}", arguments.join(" ")))
        }
    }

    /// The output of a command, whatever its exit code says if it is `git diff`.
    pub(crate) fn output(&self, program: &str, arguments: &[&str], folder: &str) -> Outcome<String> {
        let output = self.command(program, arguments, folder).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        if !output.status.success() && !arguments.contains(&"--no-index") {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{program} {} failed: {text}", arguments.join(" ")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
