//! The ends of a command, as exit codes and lines. docs/reference/kubectl-endpoints.md has this table.

use std::process::ExitCode;

use cli_runtime::printing;

pub(crate) use cli_runtime::printing::note;

/// Prints a line about work that goes on also if stdout cannot be written.
pub(crate) fn print(text: &str) {
    let _ = printing::print(text);
}

/// Prints a result. Returns false if its reader has gone away (`| head`), which is not a failure.
///
/// # Errors
/// A line about stdout, if it cannot be written.
pub(crate) fn show(text: &str) -> Result<bool, Failure> {
    printing::print(text).map_err(|error| Failure::Input(format!("cannot write to stdout: {error}")))
}

/// The end of a command that has a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// All is in order, or late by seconds; or it is done.
    Done,
    /// A result has a part that failed: a sync of the simulation.
    Incomplete,
    /// Something is wrong, would change, or is refused.
    Wrong,
    /// Nothing is wrong, and something could not be decided.
    Undecided,
}

impl Code {
    fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Incomplete => INPUT,
            Self::Wrong => 3,
            Self::Undecided => 6,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        code.number().into()
    }
}

/// A result that could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line or the input is wrong, or names what does not exist; or stdout cannot be written.
    Input(String),
    /// The input is wrong in several places.
    Inputs(Vec<String>),
    /// The cluster cannot be read or written.
    Access(String),
    /// The state that was waited for did not come.
    Timeout(String),
}

const INPUT: u8 = 1;
const ACCESS: u8 = 4;
const TIMEOUT: u8 = 5;

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Input(_) | Self::Inputs(_) => INPUT,
            Self::Access(_) => ACCESS,
            Self::Timeout(_) => TIMEOUT,
        }
    }

    /// The lines about it.
    fn lines(&self) -> &[String] {
        match self {
            Self::Input(line) | Self::Access(line) | Self::Timeout(line) => std::slice::from_ref(line),
            Self::Inputs(lines) => lines,
        }
    }

    /// The same as one line.
    pub(crate) fn line(&self) -> String {
        self.lines().join("; ")
    }

    /// Prints the lines, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        for line in self.lines() {
            note(&format!("Error: {line}"));
        }
        self.code().into()
    }
}

/// The exit codes of all commands.
pub(crate) const TABLE: [(u8, &str); 6] = [
    (0, "all is in order, late by seconds, or done"),
    (
        INPUT,
        "wrong command line or input, no such object, an unanswered question, or a sync that keeps failing",
    ),
    (3, "something is wrong, would change, failed a check, or was refused"),
    (ACCESS, "the cluster cannot be read or written"),
    (TIMEOUT, "a wait or a step took too long"),
    (6, "nothing is wrong, and something is undecided for lack of permissions or responses"),
];

/// The table as a line for `--help`.
pub(crate) fn help() -> String {
    let codes = TABLE.map(|(code, meaning)| format!("{code} {meaning}"));
    format!("Exit codes: {}", codes.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_code() {
        let failures =
            [Failure::Input, Failure::Access, Failure::Timeout].map(|new| new(String::new()).code());
        let results = [Code::Done, Code::Incomplete, Code::Wrong, Code::Undecided].map(Code::number);
        let mut all = [&failures[..], &results[..]].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, TABLE.map(|(code, _)| code));
    }
}
