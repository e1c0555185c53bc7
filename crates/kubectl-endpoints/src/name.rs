//! The name of the program.

/// The executable, under which kubectl finds the plugin; also the first part of user agents.
pub(crate) const NAME: &str = "kubectl-endpoints";
/// The way in which it is called.
pub(crate) const USAGE: &str = "kubectl endpoints";
