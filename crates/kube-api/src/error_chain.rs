//! An error and its sources on one line.

/// An error with everything behind it, on one line: `what: why: why`.
///
/// Some libraries draw pictures below their message; only the message itself is kept.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let first_line =
        |error: &dyn std::error::Error| error.to_string().lines().next().unwrap_or_default().to_owned();
    let mut line = first_line(error);
    let mut source = error.source();
    while let Some(cause) = source {
        let text = first_line(cause);
        // Some errors repeat their cause in their own text.
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        source = cause.source();
    }
    line
}
