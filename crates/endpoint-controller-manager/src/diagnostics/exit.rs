//! The ends of a diagnosis, as exit codes and lines.

use std::process::ExitCode;

pub(crate) use crate::printing::{note, print};

/// A diagnosis that could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line or the input is wrong, or names what does not exist.
    Input(String),
    /// The cluster cannot be read.
    Access(String),
    /// The state that was waited for did not come.
    Timeout(String),
}

/// The exit code if all was found in order, and with anything that is only late.
pub(crate) const IN_ORDER: u8 = 0;
/// The exit code of [`Failure::Input`], that of the program for every wrong command line.
const INPUT: u8 = 1;
/// The exit code if something was found to be wrong, as that of `simulate --diff`.
pub(crate) const WRONG: u8 = 3;
/// The exit code of [`Failure::Access`].
const ACCESS: u8 = 4;
/// The exit code of [`Failure::Timeout`].
const TIMEOUT: u8 = 5;
/// The exit code if nothing was found to be wrong, and something could not be decided.
pub(crate) const UNDECIDED: u8 = 6;

impl Failure {
    fn parts(&self) -> (u8, &str) {
        match self {
            Self::Input(line) => (INPUT, line),
            Self::Access(line) => (ACCESS, line),
            Self::Timeout(line) => (TIMEOUT, line),
        }
    }

    /// The line.
    pub(crate) fn line(&self) -> &str {
        self.parts().1
    }

    /// Prints the line, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let (code, line) = self.parts();
        note(&format!("Error: {line}"));
        code.into()
    }
}
