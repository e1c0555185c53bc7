//! The list of everything that is wrong with a configuration.

/// Errors that begin with the name of their flag.
#[derive(Debug, Default)]
pub(super) struct Errors(Vec<String>);

impl Errors {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value, or takes the error.
    pub(super) fn keep<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// Takes all of these.
    pub(super) fn extend(&mut self, errors: impl IntoIterator<Item = String>) {
        self.0.extend(errors);
    }

    /// All errors in one line, as upstream joins them. An error about a flag that has a `field` in the configuration file
    /// begins with that instead.
    pub(super) fn sentence<'a>(self, field: impl Fn(&str) -> Option<&'a str>) -> String {
        let named = |error: &String| {
            let (flag, rest) = error.split_at(error.find([' ', ':']).unwrap_or(error.len()));
            match flag.strip_prefix("--").and_then(&field) {
                Some(field) => format!("{field}{rest}"),
                None => error.clone(),
            }
        };
        let errors: Vec<String> = self.0.iter().map(named).collect();
        match errors.as_slice() {
            [error] => error.clone(),
            errors => format!("[{}]", errors.join(", ")),
        }
    }
}
