//! Runs of the program.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The path of the program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-endpoints");

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `simulate` with these words and this text on stdin, in a directory.
pub(crate) fn simulate(directory: &Path, words: &[&str], stdin: &str) -> Run {
    run(directory, &[&["simulate"], words].concat(), stdin)
}

/// Runs `explain` in the same way, without a kubeconfig of the user.
pub(crate) fn explain(words: &[&str], stdin: &str) -> Run {
    run(Path::new("/"), &[&["explain"], words].concat(), stdin)
}

/// Runs the program with nothing on stdin.
pub(crate) fn program(words: &[&str]) -> Run {
    run(Path::new("/"), words, "")
}

/// Runs the program.
pub(crate) fn run(directory: &Path, words: &[&str], stdin: &str) -> Run {
    let mut child = Command::new(PROGRAM)
        .args(words)
        .current_dir(directory)
        .env("HOME", "/nonexistent")
        .env_remove("KUBECONFIG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starting the program");
    // A program that refuses its flags reads nothing.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().expect("waiting for the program");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { code: status.code().expect("no signal"), stdout: text(stdout), stderr: text(stderr) }
}

/// The same for a manifest alone.
pub(crate) fn of_manifest(text: &str, words: &[&str]) -> Run {
    simulate(Path::new("/"), &[&["-f", "-"], words].concat(), text)
}

/// A program that goes on until a signal, and is killed when its test ends.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut program = Command::new(PROGRAM);
        program.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(program.spawn().expect("starting the program"))
    }

    /// The lines of stdout, which is closed with them.
    pub(crate) fn lines(&mut self) -> impl Iterator<Item = String> + use<> {
        lines(self.0.stdout.take().unwrap())
    }

    /// The lines of stderr.
    pub(crate) fn notes(&mut self) -> impl Iterator<Item = String> + use<> {
        lines(self.0.stderr.take().unwrap())
    }

    /// Interrupts the program, as Ctrl-C does, and returns its exit code.
    pub(crate) fn interrupt(&mut self) -> Option<i32> {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.0.wait().unwrap().code()
    }
}

fn lines(output: impl Read) -> impl Iterator<Item = String> {
    BufReader::new(output).lines().map(Result::unwrap)
}

/// The tables of slices and Endpoints, below what is said about each Service.
pub(crate) fn tables(text: &str) -> &str {
    let heads = ["NAMESPACE   NAME ", "NAME  "];
    heads
        .iter()
        .find_map(|head| text.find(&format!("\n{head}")))
        .and_then(|at| text.get(at + 1..))
        .unwrap_or(text)
}

/// Tables without the random parts of names, by which they are sorted, and without ages.
pub(crate) fn normalized(table: &str) -> Vec<String> {
    let word = |word: &str| match word.rsplit_once('-') {
        Some((name, suffix)) if word.starts_with("endpointslice") && suffix.len() == 5 => format!("{name}-*"),
        _ => word.to_owned(),
    };
    let line = |line: &str| {
        let mut words: Vec<String> = line.split_whitespace().map(word).collect();
        words.pop();
        words.join(" ")
    };
    let mut lines: Vec<String> = table.lines().map(line).collect();
    for table in lines.split_mut(String::is_empty) {
        if let [_, rows @ ..] = table {
            rows.sort();
        }
    }
    lines
}
