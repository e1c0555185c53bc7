//! What the log says about the configuration at the start.

use tracing::{info, warn};

use super::Config;

impl Config {
    /// Says once what was given without effect, and with `-v=1` every flag, as upstream does.
    pub(crate) fn log(&self) {
        if !self.without_effect.is_empty() {
            info!(flags = self.without_effect.join(" "), "Accepted, but without effect here");
        }
        let gates: Vec<&str> = self.gates.without_effect().collect();
        if !gates.is_empty() {
            info!(featureGates = gates.join(","), "Accepted, but without effect here");
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
            for (name, value) in self.values.texts() {
                info!("FLAG: --{name}={value:?}");
            }
        }
    }
}
