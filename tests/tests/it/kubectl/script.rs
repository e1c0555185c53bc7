//! The script: its steps, and a run of them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::side::Side;

/// A line of the script.
enum Step<'a> {
    Run(&'a str),
    /// Starts in the background and waits for the first line; ends after this number of lines.
    Watch {
        lines: usize,
        command: &'a str,
    },
    Watched,
}

fn steps(script: &str) -> impl Iterator<Item = Step<'_>> {
    let lines = script.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| match line.strip_prefix("watch ").and_then(|rest| rest.split_once(' ')) {
        Some((lines, command)) => Step::Watch { lines: lines.parse().expect("a number of lines"), command },
        None if line == "watched" => Step::Watched,
        None => Step::Run(line),
    })
}

/// A step with all that it printed.
pub(super) struct Outcome<'a> {
    pub(super) step: &'a str,
    pub(super) text: String,
}

/// Runs the script with this kubectl on a server, in a folder with copies of the manifests.
pub(super) fn run<'a>(script: &'a str, side: &Side, kubectl: &Path) -> Vec<Outcome<'a>> {
    let mut folder = tempfile::Builder::new().prefix("ecm-kubectl-").tempdir().expect("a folder");
    let keep = std::env::var_os("KUBECTL_KEEP").is_some();
    folder.disable_cleanup(keep);
    let shell = Shell::new(folder.path(), side, kubectl);
    let mut watch = None;
    let mut outcomes = Vec::new();
    for step in steps(script) {
        match step {
            Step::Run(step) => outcomes.push(Outcome { step, text: shell.run(step) }),
            Step::Watch { lines, command } => watch = Some(Watch::start(&shell, lines, command)),
            Step::Watched => outcomes.push(watch.take().expect("a watch before").end()),
        }
    }
    if keep {
        let text: String = outcomes.iter().flat_map(|one| ["$ ", one.step, "\n", &one.text]).collect();
        let path = folder.path().join("printed.txt");
        std::fs::write(&path, text).expect("writing what was printed");
        println!("{}: {}", side.name, path.display());
    }
    outcomes
}

/// Runs commands with this kubectl on `PATH`, and a home of their own.
struct Shell<'a> {
    folder: &'a Path,
    side: &'a Side,
    path: std::ffi::OsString,
}

impl<'a> Shell<'a> {
    fn new(folder: &'a Path, side: &'a Side, kubectl: &Path) -> Self {
        for name in ["bin", "home", "work"] {
            std::fs::create_dir(folder.join(name)).expect("a folder");
        }
        std::os::unix::fs::symlink(kubectl, folder.join("bin/kubectl")).expect("a link to kubectl");
        let manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/kubectl/manifests");
        for file in std::fs::read_dir(manifests).expect("the manifests") {
            let file = file.expect("a manifest");
            std::fs::copy(file.path(), folder.join("work").join(file.file_name()))
                .expect("a copy of a manifest");
        }
        let outer = std::env::var_os("PATH").unwrap_or_default();
        let path = [folder.join("bin")].into_iter().chain(std::env::split_paths(&outer));
        Self { folder, side, path: std::env::join_paths(path).expect("a PATH") }
    }

    fn command(&self, command: &str) -> Command {
        let mut shell = Command::new("bash");
        shell
            .args(["-c", command])
            .current_dir(self.folder.join("work"))
            .env("PATH", &self.path)
            .env("HOME", self.folder.join("home"))
            .env("KUBECONFIG", &self.side.kubeconfig)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        shell
    }

    fn run(&self, command: &str) -> String {
        let output = self.command(command).output().expect("a shell");
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let mut text = stdout;
        if !stderr.is_empty() {
            text.extend(["stderr:\n", &stderr]);
        }
        if !output.status.success() {
            text.extend(["exit ", &output.status.code().unwrap_or(-1).to_string(), "\n"]);
        }
        text
    }
}

/// A command in the background.
struct Watch<'a> {
    command: &'a str,
    process: Child,
    output: BufReader<std::process::ChildStdout>,
    first: String,
    lines: usize,
}

impl<'a> Watch<'a> {
    fn start(shell: &Shell<'_>, lines: usize, command: &'a str) -> Self {
        let mut process = shell
            // Ends by itself if the lines never come; later than the other commands do on a busy machine.
            .command(&format!("exec {command} --request-timeout=5m"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut output = BufReader::new(process.stdout.take().expect("its output"));
        let mut first = String::new();
        output.read_line(&mut first).expect("its first line");
        Self { command, process, output, first, lines }
    }

    /// Waits for the lines that are missing.
    fn end(mut self) -> Outcome<'a> {
        let mut text = self.first;
        for _ in 1..self.lines {
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("a line") == 0 {
                text += "no more lines came\n";
                break;
            }
            text += &line;
        }
        // It may have ended by itself.
        _ = self.process.kill();
        _ = self.process.wait();
        let mut stderr = String::new();
        self.process.stderr.take().expect("its errors").read_to_string(&mut stderr).expect("its errors");
        Outcome { step: self.command, text: text + &stderr }
    }
}
