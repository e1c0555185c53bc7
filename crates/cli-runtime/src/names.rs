//! The names of a program.

/// The names of a program.
#[derive(Debug)]
pub struct Names {
    /// That of the executable.
    pub executable: &'static str,
    /// The words by which a user calls it.
    pub usage: &'static str,
}
