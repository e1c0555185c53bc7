//! Differences between the configuration that runs and a new file.

use crate::options::flag::{Flag, OnChange};
use crate::options::groups::all;

/// The fields whose values differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Those that are applied to the running process.
    pub(super) reloaded: Vec<&'static str>,
    /// Those that are applied at the next start.
    pub(super) need_restart: Vec<&'static str>,
}

impl Changes {
    /// Compares the values of all flags by name. A field that a flag of the command line overrides has not changed.
    pub(super) fn between(running: &[(String, String)], new: &[(String, String)]) -> Self {
        let value = |values: &[(String, String)], flag: &Flag| {
            values.iter().find(|(name, _)| name == flag.name).map(|(_, value)| value.clone())
        };
        let mut changes = Self::default();
        for flag in all().filter(|flag| value(running, flag) != value(new, flag)) {
            let Some(field) = flag.key else { continue };
            match flag.on_change {
                OnChange::Reload => changes.reloaded.push(field),
                OnChange::Restart => changes.need_restart.push(field),
                OnChange::Nothing => {}
            }
        }
        changes
    }
}
