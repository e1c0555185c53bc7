//! Questions to the operator.

use std::io::{BufRead as _, Write as _};

use crate::diagnostics::exit::Failure;

/// Asks, and returns true for yes. The answer may come from a pipe.
///
/// # Errors
/// If there is none.
pub(super) fn is_yes(question: &str) -> Result<bool, Failure> {
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    match read {
        Ok(0) => Err(Failure::Input(format!("no answer to the question: {question}"))),
        Ok(_) => Ok(matches!(answer.trim(), "y" | "Y" | "yes")),
        Err(error) => Err(Failure::Input(format!("cannot read the answer: {error}"))),
    }
}
