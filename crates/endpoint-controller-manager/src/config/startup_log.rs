//! Log lines about the configuration at start.

use tracing::{info, warn};

use super::Config;

impl Config {
    /// Logs once which flags and gates were given without effect, and with `-v=1` every flag, as upstream does.
    pub(crate) fn log(&self) {
        if !self.without_effect.is_empty() {
            info!(flags = self.without_effect.join(" "), "Ignoring flags that have no effect here");
        }
        let gates: Vec<&str> = self.gates.without_effect().collect();
        if !gates.is_empty() {
            info!(featureGates = gates.join(","), "Ignoring feature gates that have no effect here");
        }
        let going_away: Vec<&str> = self.gates.going_away().collect();
        if !going_away.is_empty() {
            warn!(
                featureGates = going_away.join(","),
                "Setting feature gates that are generally available or deprecated. They will be removed in a future \
                 release"
            );
        }
        if self.verbosity >= 1 {
            for (name, value) in &self.flags {
                info!("FLAG: --{name}={value:?}");
            }
        }
    }
}
