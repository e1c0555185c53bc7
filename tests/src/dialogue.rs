//! A program whose output is read line by line while it runs, and whose questions are answered.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};

use crate::process::{dies_with_us, spawn};

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub struct Dialogue {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// Everything read so far, for messages.
    text: String,
    has_ended: bool,
}

impl Dialogue {
    /// Starts a program.
    pub fn start(program: &Path, folder: &Path, args: &[String]) -> Self {
        let mut command = dies_with_us(program);
        command.args(args).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            spawn(command).unwrap_or_else(|error| panic!("starting {}: {error}", program.display()));
        let (sender, lines) = mpsc::channel();
        let stdin = child.stdin.take().expect("a pipe");
        let (stdout, stderr) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        let outputs: [Box<dyn Read + Send>; 2] = [Box::new(stdout), Box::new(stderr)];
        for output in outputs {
            let (sender, mut lines) = (sender.clone(), BufReader::new(output).lines().map_while(Result::ok));
            std::thread::spawn(move || lines.try_for_each(|line| sender.send(line)));
        }
        Self { child, stdin, lines, text: String::new(), has_ended: false }
    }

    /// The next line of its output, if there is one already. Once [`Self::exited`] has returned its status, every line comes
    /// before none: those that are still in its pipes are waited for.
    pub fn line(&mut self) -> Option<String> {
        let line = if self.has_ended { self.lines.recv().ok()? } else { self.lines.try_recv().ok()? };
        self.text.push_str(&line);
        self.text.push('\n');
        Some(line)
    }

    /// Writes a line to its input.
    pub fn answer(&mut self, line: &str) {
        // It may have ended.
        let _ = writeln!(self.stdin, "{line}");
    }

    /// The exit status, once it has ended.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().expect("asking for a child's status");
        self.has_ended = status.is_some();
        status
    }

    /// Kills it at once (SIGKILL).
    pub fn kill(&mut self) {
        // An error means that it has already exited; waiting reaps it in both cases.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Everything read so far.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_of_an_ended_program_are_read() {
        const LINES: usize = 10_000;
        for _ in 0..20 {
            let args = [LINES.to_string()];
            let mut program = Dialogue::start(Path::new("seq"), Path::new("."), &args);
            while program.exited().is_none() {
                std::thread::yield_now();
            }
            let mut read = 0;
            while program.line().is_some() {
                read += 1;
            }
            assert_eq!(read, LINES);
            assert!(program.text().ends_with(&format!("\n{LINES}\n")));
        }
    }
}
