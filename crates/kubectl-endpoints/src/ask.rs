//! Questions to the operator.

use std::io::{self, BufRead as _, Write as _};

use crate::exit::Failure;

/// Asks, and returns true for yes. The answer may come from a pipe, and may take days: the runtime goes on meanwhile.
///
/// # Errors
/// If there is none.
pub(crate) async fn is_yes(question: &str) -> Result<bool, Failure> {
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let read = || {
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map(|length| (length, answer))
    };
    match tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(io::Error::other(error))) {
        Ok((0, _)) => Err(Failure::Input(format!(
            "no reply to the question: {question} Reply on a terminal, or by a pipe; --yes answers what the cluster shows"
        ))),
        Ok((_, answer)) => Ok(matches!(answer.trim(), "y" | "Y" | "yes")),
        Err(error) => Err(Failure::Input(format!("cannot read the reply: {error}"))),
    }
}
