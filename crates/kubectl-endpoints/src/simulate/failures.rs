//! The reasons for which syncs fail, from the controllers' own log lines.
//!
//! A key that keeps failing is logged at every attempt. Here only the last line about each key is kept, and shown at the
//! end if the key has not succeeded by then. Other warnings are printed at once.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use cli_runtime::printing::note;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

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
        let mut fields = Fields::default();
        event.record(&mut fields);
        if let (Some(controller), Some(key), Some(reason)) =
            (fields.take("controller"), fields.take("key"), fields.take("err"))
        {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((controller, key), reason);
        } else {
            note(&fields.line(level));
        }
    }
}

/// The fields of a log line, in order.
#[derive(Default)]
struct Fields(Vec<(&'static str, String)>);

impl Fields {
    fn take(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|(field, _)| *field == name)?;
        Some(self.0.get(place)?.1.clone())
    }

    fn line(&self, level: Level) -> String {
        let mut line = if level == Level::ERROR { "Error: " } else { "Warning: " }.to_owned();
        let message = self.0.iter().find(|(name, _)| *name == "message");
        line.push_str(message.map_or("", |(_, text)| text));
        for (name, value) in self.0.iter().filter(|(name, _)| *name != "message") {
            // Writing to a String does not fail.
            let _ = write!(line, ", {name}: {value}");
        }
        line
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
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

    #[test]
    fn other_warnings_are_lines() {
        let fields = Fields(vec![("message", "Relist failed".to_owned()), ("err", "x".to_owned())]);
        assert_eq!(fields.line(Level::WARN), "Warning: Relist failed, err: x");
    }
}
