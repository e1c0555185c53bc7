//! Questions to the operator.

use std::io::{self, BufRead as _, Write as _};

use crate::exit::Failure;

/// Asks, and returns true for yes; `None` without an answer. It may come from a pipe, and may take days: the runtime goes on
/// meanwhile.
///
/// # Errors
/// If it cannot be read.
pub(crate) async fn is_yes(question: &str) -> Result<Option<bool>, Failure> {
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let read = || {
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map(|length| (length, answer))
    };
    match tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(io::Error::other(error))) {
        Ok((0, _)) => Ok(None),
        Ok((_, answer)) => Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes"))),
        Err(error) => Err(Failure::Input(format!("cannot read the reply: {error}"))),
    }
}
