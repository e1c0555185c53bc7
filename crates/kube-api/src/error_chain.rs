//! An error and its sources on one line.

/// Formats an error and its sources on one line: `error: source: source`.
///
/// Of each message only the first line is kept, because some libraries append excerpts of the input.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let first_line =
        |error: &dyn std::error::Error| error.to_string().lines().next().unwrap_or_default().to_owned();
    let mut line = first_line(error);
    let mut source = error.source();
    while let Some(cause) = source {
        let text = first_line(cause);
        // Some errors repeat their source in their own message.
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        source = cause.source();
    }
    line
}
