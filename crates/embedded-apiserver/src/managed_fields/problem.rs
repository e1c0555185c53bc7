//! Errors about places in an object, as structured-merge-diff prints them.

use std::fmt;

/// An error and the path of its place. The path grows from its end while the walk returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    path: String,
    message: String,
}

/// All errors of a walk; none if it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an error about the place where the walk is.
    pub(crate) fn add(&mut self, message: impl Into<String>) {
        self.0.push(Problem { path: String::new(), message: message.into() });
    }

    /// Adds the errors of a walk one step further.
    pub(crate) fn add_below(&mut self, step: &dyn fmt::Display, below: Self) {
        self.0.extend(
            below.0.into_iter().map(|problem| Problem { path: format!("{step}{}", problem.path), ..problem }),
        );
    }

    /// Nothing, or the errors as one text.
    pub(crate) fn into_result(self) -> Result<(), String> {
        if self.is_empty() { Ok(()) } else { Err(self.to_string()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            out.write_str(&self.message)
        } else {
            write!(out, "{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return only.fmt(out);
        }
        out.write_str("errors:")?;
        self.0.iter().try_for_each(|problem| write!(out, "\n  {problem}"))
    }
}
