//! The reasons for which syncs fail, from the controllers' own log lines.
//!
//! A key that keeps failing is logged at every attempt. Here only the last line about each key is kept, and shown at the
//! end if the key has not succeeded by then. Other warnings are printed at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cli_runtime::printing::note;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use crate::warnings::Fields;

/// The last failure of each key. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures(Arc<Mutex<HashMap<(String, String), String>>>);

impl Failures {
    /// The reason of the last failure of a key; empty if there was none.
    pub(crate) fn reason(&self, controller: &str, key: &str) -> String {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.get(&(controller.to_owned(), key.to_owned())).cloned().unwrap_or_default()
    }
}

impl<S: Subscriber> Layer<S> for Failures {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = *event.metadata().level();
        if level > Level::WARN {
            return;
        }
        let fields = Fields::of(event);
        if let (Some(controller), Some(key), Some(reason)) =
            (fields.get("controller"), fields.get("key"), fields.get("err"))
        {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((controller, key), reason);
        } else {
            note(&fields.line(level));
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn the_last_reason_of_each_key_is_kept() {
        let failures = Failures::default();
        let subscriber = tracing_subscriber::registry().with(failures.clone());
        tracing::subscriber::with_default(subscriber, || {
            for reason in ["first", "second"] {
                let key = format_args!("ns/a").to_string();
                tracing::error!(controller = "c", key = %key, reason = "refused", err = reason, "Error syncing");
            }
            tracing::debug!(controller = "c", key = "ns/b", err = "x", "Cache is stale");
        });
        assert_eq!(failures.reason("c", "ns/a"), "second");
        assert_eq!(failures.reason("c", "ns/b"), "");
    }
}
